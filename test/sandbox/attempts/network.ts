import { type Attempt, attemptsOf, perl, sh } from "../attempt.ts";

/** A packed `msghdr` with an address and one buffer, for system calls that Perl does not have. */
const messageHeader = String.raw`
  my $address = pack_sockaddr_un($ENV{DATAGRAM_SOCKET}); my $data = $id;
  my $vector = pack("JJ", unpack("J", pack("p", $data)), length $data);
  my $message = pack("JLx4JJJJL", unpack("J", pack("p", $address)), length $address, unpack("J", pack("p", $vector)), 1, 0, 0, 0);
`;

const unixSockets = attemptsOf("unix sockets", [
  [
    "connects to a socket outside by its path",
    "message",
    perl(
      'socket(S, PF_UNIX, SOCK_STREAM, 0) && connect(S, pack_sockaddr_un($ENV{STREAM_SOCKET})) or failed("connect"); syswrite(S, $id)',
    ),
  ],
  [
    "connects to a socket outside by its path through /proc/self/root",
    "message",
    perl(String.raw`
      my ($d, $f) = $ENV{STREAM_SOCKET} =~ m{^(.*)/([^/]+)$}; symlink("/proc/self/root$d", "$work/l");
      socket(S, PF_UNIX, SOCK_STREAM, 0) && connect(S, pack_sockaddr_un("$work/l/$f")) or failed("connect"); syswrite(S, $id)`),
  ],
  [
    "sends a datagram to a socket outside",
    "message",
    perl(
      'socket(S, PF_UNIX, SOCK_DGRAM, 0) && send(S, $id, 0, pack_sockaddr_un($ENV{DATAGRAM_SOCKET})) or failed("send")',
    ),
  ],
  [
    "connects a datagram socket to one outside",
    "message",
    perl(
      'socket(S, PF_UNIX, SOCK_DGRAM, 0) && connect(S, pack_sockaddr_un($ENV{DATAGRAM_SOCKET})) && send(S, $id, 0) or failed("send")',
    ),
  ],
  [
    "sends a datagram with sendmsg to a socket outside",
    "message",
    perl(
      `${messageHeader} socket(S, PF_UNIX, SOCK_DGRAM, 0) or failed("socket"); sys("sendmsg", fileno(S), $message, 0) > 0 or failed("sendmsg")`,
    ),
    { onCodex: "escapes" },
  ],
  [
    "sends a datagram with sendmsg from one of a pair",
    "message",
    perl(
      `${messageHeader} socketpair(S, T, PF_UNIX, SOCK_DGRAM, 0) or failed("socketpair"); sys("sendmsg", fileno(S), $message, 0) > 0 or failed("sendmsg")`,
    ),
    { onCodex: "escapes" },
  ],
  [
    "sends a datagram from one of a pair",
    "message",
    perl(
      'socketpair(S, T, PF_UNIX, SOCK_DGRAM, 0) && send(S, $id, 0, pack_sockaddr_un($ENV{DATAGRAM_SOCKET})) or failed("send")',
    ),
  ],
  [
    "sends a datagram from a raw socket",
    "message",
    perl(
      'socket(S, PF_UNIX, SOCK_RAW, 0) && send(S, $id, 0, pack_sockaddr_un($ENV{DATAGRAM_SOCKET})) or failed("send")',
    ),
  ],
  [
    "connects to an abstract socket outside",
    "message",
    perl(
      'socket(S, PF_UNIX, SOCK_STREAM, 0) && connect(S, pack("Sxa107", PF_UNIX, $ENV{ABSTRACT_SOCKET})) or failed("connect"); syswrite(S, $id)',
    ),
  ],
]);

const tcp = (family: string, address: string, more = "0"): string =>
  `my $a = ${address}; socket(S, ${family}, SOCK_STREAM, ${more}) && connect(S, $a) or failed("connect"); syswrite(S, $id)`;
const udp = (family: string, address: string): string =>
  `my $a = ${address}; socket(S, ${family}, SOCK_DGRAM, 0) && send(S, $id, 0, $a) or failed("send")`;
const v4 = 'pack_sockaddr_in($ENV{TCP4_PORT}, inet_aton("127.0.0.1"))';

const network = attemptsOf("network", [
  ["connects with TCP over IPv4", "message", perl(tcp("PF_INET", v4))],
  [
    "connects with TCP over IPv6",
    "message",
    perl(tcp("PF_INET6", 'pack_sockaddr_in6($ENV{TCP6_PORT}, inet_pton(AF_INET6, "::1"))')),
    { mayBeUnavailable: "the machine may have no IPv6" },
  ],
  [
    "connects with TCP over IPv6 to a mapped address",
    "message",
    perl(tcp("PF_INET6", 'pack_sockaddr_in6($ENV{TCP4_PORT}, inet_pton(AF_INET6, "::ffff:127.0.0.1"))')),
    { mayBeUnavailable: "the machine may have no IPv6" },
  ],
  [
    "connects with multipath TCP",
    "message",
    perl(tcp("PF_INET", v4, "262")),
    { mayBeUnavailable: "the kernel may have no multipath TCP" },
  ],
  [
    "connects with TCP to the address of this machine",
    "message",
    perl(String.raw`
      my $a; for (split /\n/, slurp("/proc/net/fib_trie")) { $a = $1 if /\|--\s+((?!127\.)\d+\.\d+\.\d+\.\d+)/; last if $a && /host LOCAL/ }
      $a or failed("no address"); socket(S, PF_INET, SOCK_STREAM, 0) && connect(S, pack_sockaddr_in($ENV{TCP4_PORT}, inet_aton($a))) or failed("connect"); syswrite(S, $id)`),
    { mayBeUnavailable: "the machine may have no other address" },
  ],
  [
    "connects with TCP from bash",
    "message",
    sh("bash -c 'exec 3<> /dev/tcp/127.0.0.1/$TCP4_PORT && echo $ID >&3'"),
  ],
  [
    "sends with its first packet over TCP",
    "message",
    perl(
      `my $a = ${v4}; socket(S, PF_INET, SOCK_STREAM, 0) && send(S, $id, 0x20000000, $a) or failed("send")`,
    ),
    { mayBeUnavailable: "the kernel may not open connections with the first packet" },
  ],
  [
    "sends with UDP over IPv4",
    "message",
    perl(udp("PF_INET", 'pack_sockaddr_in($ENV{UDP4_PORT}, inet_aton("127.0.0.1"))')),
  ],
  [
    "sends with UDP over IPv6",
    "message",
    perl(udp("PF_INET6", 'pack_sockaddr_in6($ENV{UDP6_PORT}, inet_pton(AF_INET6, "::1"))')),
    { mayBeUnavailable: "the machine may have no IPv6" },
  ],
  [
    "asks a name server",
    "message",
    perl(String.raw`
      my $query = pack("nnnnnn", 1, 0x100, 1, 0, 0, 0) . pack("C/a* C/a* x", $id, "test") . pack("nn", 16, 1);
      socket(S, PF_INET, SOCK_DGRAM, 0) && send(S, $query, 0, pack_sockaddr_in($ENV{UDP4_PORT}, inet_aton("127.0.0.1"))) or failed("send")`),
  ],
  [
    "opens a raw socket",
    "claim",
    perl('socket(S, PF_INET, SOCK_RAW, 1) or failed("socket"); escaped("raw")'),
  ],
  [
    "opens a raw socket with network access",
    "claim",
    perl('socket(S, PF_INET, SOCK_RAW, 1) or failed("socket"); escaped("raw")'),
    { network: "enabled" },
  ],
  [
    "opens a packet socket",
    "claim",
    perl('socket(S, 17, SOCK_RAW, 0x0300) or failed("socket"); escaped("packet")'),
    { mayBeUnavailable: "the kernel may have no packet sockets" },
  ],
  [
    "opens a packet socket with network access",
    "claim",
    perl('socket(S, 17, SOCK_RAW, 0x0300) or failed("socket"); escaped("packet")'),
    { network: "enabled", mayBeUnavailable: "the kernel may have no packet sockets" },
  ],
  [
    "asks the kernel for the interfaces over netlink",
    "claim",
    perl(String.raw`
      socket(S, 16, SOCK_RAW, 0) or failed("socket");
      my $request = pack("LSSLLCx3", 20, 18, 0x301, 1, 0, 0); send(S, $request, 0) or failed("send"); recv(S, my $b, 65536, 0);
      length($b) > 100 ? escaped("interfaces") : failed("answer")`),
  ],
  [
    "opens a ping socket",
    "claim",
    perl('socket(S, PF_INET, SOCK_DGRAM, 1) or failed("socket"); escaped("ping")'),
    { mayBeUnavailable: "only some groups may have ping sockets" },
  ],
  [
    "opens a socket to the host of a virtual machine",
    "claim",
    perl('socket(S, 40, SOCK_STREAM, 0) or failed("socket"); escaped("vsock")'),
    { mayBeUnavailable: "the kernel may have no vsock" },
  ],
  [
    "opens a socket to the ciphers of the kernel",
    "claim",
    perl('socket(S, 38, 5, 0) or failed("socket"); escaped("alg")'),
    { mayBeUnavailable: "the kernel may have no such sockets" },
  ],
  [
    "opens a socket of any other family",
    "claim",
    perl(
      'for my $f (3 .. 9, 11 .. 15, 18 .. 37, 39, 41 .. 46) { for my $t (1, 2, 3, 5) { socket(S, $f, $t, 0) and escaped("family $f") } } failed("socket")',
    ),
    { mayBeUnavailable: "the kernel may have none of them" },
  ],
]);

export const networkAttempts: readonly Attempt[] = [...unixSockets, ...network];
