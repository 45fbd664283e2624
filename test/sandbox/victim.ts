import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { withDeadline } from "../fault/deadline.ts";
import { prelude } from "./syscalls.ts";

const READY_DEADLINE_MS = 60_000;

/** Keeps the secret in every place that a process has, and says what it receives. */
const SCRIPT = String.raw`
  my ($key, $queue, $socket, $file) = @ENV{qw(SHM_KEY QUEUE DATAGRAM_SOCKET SECRET_FILE)};
  my $secret = $ENV{VICTIM_SECRET}; my $address = unpack("J", pack("p", $secret));
  open(my $f, "<", $file) or die "open: $!"; POSIX::dup2(fileno($f), 9);
  # A signal interrupts recv.
  my @signals; for my $name (qw(USR1 USR2)) { $SIG{$name} = sub { push @signals, $name } } $SIG{TERM} = sub { exit };
  my $shm = shmget($key, 4096, 01600); defined $shm or die "shmget: $!"; shmwrite($shm, $secret, 0, length $secret);
  my $messages = msgget($key, 01600); msgsnd($messages, pack("l! a*", 1, $secret), 0);
  my $attributes = pack("l!8", 0, 4, 8192, 0, 0, 0, 0, 0);
  my $mq = sys("mq_open", $queue, 0102, 0600, $attributes); if ($mq >= 0) { sys("mq_timedsend", $mq, $secret, length $secret, 0, 0) }
  my ($type, $name) = ("user", "exec-server-escape-$key"); my $held = sys("add_key", $type, $name, $secret, length $secret, -4);
  sys("keyctl", 5, $held, 0x3f3f0000, 0, 0) if $held > 0;
  socket(my $s, PF_UNIX, SOCK_DGRAM, 0); bind($s, pack_sockaddr_un($socket)) or die "bind: $!"; chmod 0777, $socket;
  END { sys("mq_unlink", $queue) if $mq >= 0; shmctl($shm, 0, 0) if defined $shm; msgctl($messages, 0, 0) if defined $messages; sys("keyctl", 3, $held, 0, 0, 0) if $held }
  print "$address $held\n";
  for (;;) { my $text; if (defined recv($s, $text, 4096, 0)) { print "$text\n" } while (my $name = shift @signals) { print "signal $name\n" } }
`;

/** A process outside that holds the secret. */
export class Victim implements AsyncDisposable {
  /** Lines that it has printed: what it has received, or the name of a signal. */
  readonly received: string[] = [];
  readonly pid: number;
  readonly address: string;
  readonly key: string;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, [address = "", key = ""]: string[]) {
    this.#child = child;
    this.pid = child.pid ?? Number.NaN;
    this.address = address;
    this.key = key;
  }

  static async start(cwd: string, secret: string, env: Readonly<Record<string, string>>): Promise<Victim> {
    const child = spawn("perl", ["-MPOSIX", "-e", prelude + SCRIPT, `argument-${secret}`], {
      cwd,
      env: { ...env, VICTIM_SECRET: secret },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const lines = createInterface({ input: child.stdout });
    const [first] = (await withDeadline(
      once(lines, "line"),
      READY_DEADLINE_MS,
      () => "the first line of the victim",
    )) as [string];
    const victim = new Victim(child, first.split(" "));
    lines.on("line", (line) => victim.received.push(line));
    return victim;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, "close");
    this.#child.kill("SIGTERM");
    await ended;
  }
}
