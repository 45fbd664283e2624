import { type Attempt, attemptsOf, perl, sh } from "../attempt.ts";

const namespaces = attemptsOf("namespaces", [
  [
    "creates a user namespace with unshare",
    "claim",
    perl('sys("unshare", 0x10000000) == 0 or failed("unshare"); escaped("unshare")'),
    { onCodex: "escapes" },
  ],
  [
    "creates a user namespace with clone",
    "claim",
    perl(String.raw`
      my $pid = sys("clone", 0x10000000 | 17, 0, 0, 0, 0); $pid >= 0 or failed("clone");
      if ($pid == 0) { exec("true") } waitpid($pid, 0); escaped("clone")`),
    { onCodex: "escapes" },
  ],
  [
    "creates a user namespace with clone3",
    "claim",
    perl(String.raw`
      my $args = pack("Q11", 0x10000000, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0);
      my $pid = sys("clone3", $args, 88); $pid >= 0 or failed("clone3");
      if ($pid == 0) { exec("true") } waitpid($pid, 0); escaped("clone3")`),
    { onCodex: "escapes" },
  ],
  [
    "creates a mount namespace",
    "claim",
    perl('sys("unshare", 0x20000) == 0 or failed("unshare"); escaped("unshare")'),
  ],
  [
    "creates a network namespace",
    "claim",
    perl('sys("unshare", 0x40000000) == 0 or failed("unshare"); escaped("unshare")'),
  ],
  ["enters the mounts of a process outside", "secret", sh("nsenter -t $VICTIM -m cat $SECRETS/file")],
  [
    "enters the network of a process outside",
    "claim",
    perl(
      'open(my $n, "<", "/proc/$ENV{VICTIM}/ns/net") or failed("open"); sys("setns", fileno($n), 0) == 0 or failed("setns"); escaped("setns")',
    ),
  ],
  ["learns who owns a file of another user", "secret", sh("echo owner-$(stat -c %u $OWNED_FILE)")],
]);

const otherProcesses = attemptsOf("other processes", [
  [
    "signals a process outside",
    "message",
    perl('kill("USR1", $ENV{VICTIM}) or failed("kill")'),
    { message: "signal USR1" },
  ],
  [
    "signals a process outside by a descriptor",
    "message",
    perl(
      'my $fd = sys("pidfd_open", $ENV{VICTIM} + 0, 0); $fd >= 0 or failed("pidfd_open"); sys("pidfd_send_signal", $fd, 12, 0, 0) == 0 or failed("signal")',
    ),
    { message: "signal USR2" },
  ],
  [
    "reads the memory of a process outside with process_vm_readv",
    "secret",
    perl(String.raw`
      my $text = "\0" x 64; my $local = pack("JJ", unpack("J", pack("p", $text)), 64); my $remote = pack("JJ", $ENV{VICTIM_ADDRESS}, 64);
      sys("process_vm_readv", $ENV{VICTIM} + 0, $local, 1, $remote, 1, 0) > 0 or failed("process_vm_readv"); print $text`),
  ],
  [
    "takes a descriptor of a process outside",
    "secret",
    perl(String.raw`
      my $pidfd = sys("pidfd_open", $ENV{VICTIM} + 0, 0); $pidfd >= 0 or failed("pidfd_open");
      my $fd = sys("pidfd_getfd", $pidfd, 9, 0); $fd >= 0 or failed("pidfd_getfd"); print slurp("/proc/self/fd/$fd")`),
  ],
  [
    "attaches to a process outside with ptrace",
    "claim",
    perl('sys("ptrace", 0x4206, $ENV{VICTIM} + 0, 0, 0) == 0 or failed("ptrace"); escaped("seized")'),
  ],
  [
    "attaches to a process of its own with ptrace",
    "claim",
    perl(String.raw`
      my $pid = fork; if (!$pid) { sleep 1000; exit }
      my $r = sys("ptrace", 0x4206, $pid, 0, 0); my $e = $!; kill("KILL", $pid); $! = $e; $r == 0 or failed("ptrace"); escaped("seized")`),
  ],
  [
    "asks to be traced",
    "claim",
    perl('sys("ptrace", 0, 0, 0, 0) == 0 or failed("ptrace"); escaped("traceme")'),
    { network: "enabled", onCodex: "escapes" },
  ],
  [
    "writes to the memory of its parent with process_vm_writev",
    "claim",
    perl(String.raw`
      my $text = "before"; my $address = unpack("J", pack("p", $text));
      my $pid = fork; if ($pid) { waitpid($pid, 0); $text eq "before" ? failed("unchanged") : escaped($text) }
      my $new = "after!"; my $local = pack("JJ", unpack("J", pack("p", $new)), 6); my $remote = pack("JJ", $address, 6);
      sys("process_vm_writev", getppid(), $local, 1, $remote, 1, 0); exit`),
    { network: "enabled", onCodex: "escapes" },
  ],
]);

const shared = attemptsOf("shared memory and keys", [
  [
    "reads System V shared memory of others",
    "secret",
    perl(
      'my $shm = shmget($ENV{SHM_KEY}, 0, 0); defined $shm or failed("shmget"); shmread($shm, my $text, 0, 32) or failed("shmread"); print $text',
    ),
  ],
  [
    "takes a System V message of others",
    "secret",
    perl(
      'my $q = msgget($ENV{SHM_KEY}, 0); defined $q or failed("msgget"); msgrcv($q, my $text, 128, 0, 04000) or failed("msgrcv"); print $text',
    ),
  ],
  [
    "takes a POSIX message of others",
    "secret",
    perl(String.raw`
      my $n = $ENV{QUEUE}; my $q = sys("mq_open", $n, 04000, 0, 0); $q >= 0 or failed("mq_open");
      my $text = "\0" x 8192; sys("mq_timedreceive", $q, $text, 8192, 0, 0) > 0 or failed("mq_timedreceive"); print $text`),
    { mayBeUnavailable: "the kernel may have no POSIX message queues" },
  ],
  [
    "reads a key of its user",
    "secret",
    perl(
      'my $text = "\\0" x 64; sys("keyctl", 11, $ENV{KEY} + 0, $text, 64, 0) > 0 or failed("keyctl"); print $text',
    ),
    { mayBeUnavailable: "the kernel may have no keys", onCodex: "escapes" },
  ],
  [
    "leaves a key for others",
    "claim",
    perl(
      'my ($t, $n, $v) = ("user", $id, "escaped"); my $key = sys("add_key", $t, $n, $v, 7, -4); $key > 0 or failed("add_key"); sys("keyctl", 3, $key, 0, 0, 0); escaped("add_key")',
    ),
    { mayBeUnavailable: "the kernel may have no keys", onCodex: "escapes" },
  ],
]);

const survivors = attemptsOf("survivors", [
  [
    "leaves a child behind",
    "survival",
    sh("(while [ ! -e $WORK/over ]; do sleep 0.05; done; echo escaped > $WORK/survived) > /dev/null 2>&1 &"),
  ],
  [
    "leaves a daemon behind",
    "survival",
    perl(String.raw`
      use POSIX (); exit if fork; POSIX::setsid(); exit if fork; close($_) for *STDIN, *STDOUT, *STDERR;
      $SIG{$_} = "IGNORE" for qw(HUP TERM INT QUIT);
      until (-e "$work/over") { select(undef, undef, undef, 0.05) } spew("$work/survived")`),
  ],
  [
    "leaves a child behind that floods it with forks",
    "survival",
    perl(String.raw`
      exit if fork; close($_) for *STDIN, *STDOUT, *STDERR; my $end = time + 20;
      while (time < $end) { if (-e "$work/over") { spew("$work/survived"); exit } exit if fork; select(undef, undef, undef, 0.01) }`),
  ],
]);

const privileges = attemptsOf("set-user-id and capabilities", [
  ["runs a set-user-id program of another user", "secret", sh("echo owner-$($SETUID_PROGRAM -u)")],
  [
    "leaves a set-user-id program behind",
    "claim",
    sh('cp /usr/bin/id $WORK/id && chmod 4755 $WORK/id && [ -u $WORK/id ] && echo "ESC""APED"'),
    { onCodex: "escapes" },
  ],
  [
    "leaves a set-group-id program behind",
    "claim",
    sh('cp /usr/bin/id $WORK/id && chmod 2755 $WORK/id && [ -g $WORK/id ] && echo "ESC""APED"'),
    { onCodex: "escapes" },
  ],
  [
    "names a set-user-id program that it made without a name",
    "claim",
    perl(String.raw`
      my ($cwd, $dir, $name) = (-100, "$work", "$work/id");
      my $fd = sys("openat", $cwd, $dir, 020000002 | Fcntl::O_DIRECTORY(), 04755); $fd >= 0 or failed("O_TMPFILE");
      my $from = "/proc/self/fd/$fd"; sys("linkat", $cwd, $from, $cwd, $name, 0x400) == 0 or failed("linkat");
      -u $name or failed("no bit"); escaped("O_TMPFILE")`),
    { onCodex: "escapes" },
  ],
  ["reads a file whose mode allows no one", "secret", sh("cat $LOCKED_FILE")],
  ["gives a file to another user", "claim", sh('touch $WORK/f && chown 12345 $WORK/f && echo "ESC""APED"')],
  [
    "sets the name of the machine",
    "claim",
    perl(
      'my $n = `uname -n`; chomp $n; sys("sethostname", $n, length $n) == 0 or failed("sethostname"); escaped("sethostname")',
    ),
  ],
  [
    "raises its limits",
    "claim",
    perl(
      'my $l = pack("QQ", 1 << 20, (1 << 20) + 7); sys("prlimit64", 0, 7, $l, 0) == 0 or failed("prlimit"); escaped("prlimit")',
    ),
    { mayBeUnavailable: "the hard limit may be higher than the test sets it" },
  ],
  [
    "uses capabilities of a file",
    "claim",
    perl(String.raw`
      system("cp", "/usr/sbin/chroot", "$work/chroot") == 0 or failed("cp");
      my $caps = pack("V5", 0x02000001, 1 << 18, 0, 0, 0); my $n = "security.capability"; my $p = "$work/chroot";
      sys("setxattr", $p, $n, $caps, 20, 0) == 0 or failed("setxattr");
      system("$work/chroot", "/", "true") == 0 or failed("chroot"); escaped("file capabilities")`),
    { mayBeUnavailable: "the file system may have no attributes" },
  ],
]);

export const processAttempts: readonly Attempt[] = [
  ...namespaces,
  ...otherProcesses,
  ...shared,
  ...survivors,
  ...privileges,
];
