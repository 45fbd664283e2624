import { type Attempt, attemptsOf, perl, type ProxyRules } from "../attempt.ts";
import { client } from "./server.ts";

/** Everything but this machine. */
const PUBLIC: ProxyRules = { domains: { "*.test": "allow" }, allowLocalBinding: false };
/** This machine, too. */
const LOCAL: ProxyRules = {
  domains: {
    "127.0.0.1": "allow",
    "127.0.0.2": "allow",
    localhost: "allow",
    "0.0.0.0": "allow",
    "::1": "allow",
    "::ffff:127.0.0.1": "allow",
  },
  allowLocalBinding: true,
};

/** `through` connects by the proxy, or directly where there is none: then the address is always that of this machine. */
const proxied = String.raw`
  sub dial { my ($port) = @_; my $s; socket($s, PF_INET, SOCK_STREAM, 0) && connect($s, pack_sockaddr_in($port, inet_aton("127.0.0.1"))) or failed("connect"); $s }
  sub proxy { ($ENV{$_[0]} // "") =~ /:(\d+)\/?$/ ? $1 : undef }
  sub tunnel {
    my ($host, $port) = @_; my $proxy = proxy("HTTP_PROXY") // return dial($port); my $s = dial($proxy);
    syswrite($s, "CONNECT $host:$port HTTP/1.1\r\nHost: $host:$port\r\n\r\n"); my $got = "";
    while ($got !~ /\r\n\r\n/) { sysread($s, $got, 1, length $got) or failed("proxy") }
    $got =~ /^HTTP\/1.[01] 200/ or failed($got); $s
  }
  sub socks {
    my ($type, $address, $port) = @_; my $proxy = proxy("ALL_PROXY") // return dial($port); my $s = dial($proxy);
    syswrite($s, "\x05\x01\x00"); sysread($s, my $got, 2) == 2 or failed("greeting");
    syswrite($s, "\x05\x01\x00" . chr($type) . $address . pack("n", $port)); sysread($s, $got, 10) >= 2 or failed("answer");
    ord(substr($got, 1, 1)) == 0 or failed("socks " . unpack("H*", $got)); $s
  }
  sub get {
    my ($url, $host, $port) = @_; my $s = dial(proxy("HTTP_PROXY") // $port);
    syswrite($s, "GET $url HTTP/1.1\r\nHost: $host\r\nX-Id: $id\r\nConnection: close\r\n\r\n"); if (proxy("HTTP_PROXY")) { sysread($s, my $got, 4096); print $got }
  }
  my ($port, $server) = @ENV{qw(TCP4_PORT SERVER_PORT)};
`;
const byProxy = (text: string) => perl(proxied + text);
const askServer = (text: string) => perl(client + proxied + text);

/** Spellings of this machine's address. */
const SPELLINGS = [
  "127.0.0.1",
  "localhost",
  "LOCALHOST.",
  "127.1",
  "2130706433",
  "0x7f.0.0.1",
  "0.0.0.0",
  "[::1]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]",
  "user@127.0.0.1",
  "a.test@127.0.0.1",
];

export const managedNetworkAttempts: readonly Attempt[] = attemptsOf("managed network", [
  [
    "connects past the proxy",
    "message",
    byProxy("my $s = dial($port); syswrite($s, $id)"),
    { proxy: PUBLIC },
  ],
  [
    "sends datagrams past the proxy",
    "message",
    byProxy(
      'socket(S, PF_INET, SOCK_DGRAM, 0) && send(S, $id, 0, pack_sockaddr_in($ENV{UDP4_PORT}, inet_aton("127.0.0.1"))) or failed("send")',
    ),
    { proxy: LOCAL },
  ],
  [
    "connects to a socket outside by its path, past the proxy",
    "message",
    byProxy(
      'socket(S, PF_UNIX, SOCK_STREAM, 0) && connect(S, pack_sockaddr_un($ENV{STREAM_SOCKET})) or failed("connect"); syswrite(S, $id)',
    ),
    { proxy: LOCAL },
  ],
  [
    "connects to an abstract socket outside, past the proxy",
    "message",
    byProxy(
      'socket(S, PF_UNIX, SOCK_STREAM, 0) && connect(S, pack("Sxa107", PF_UNIX, $ENV{ABSTRACT_SOCKET})) or failed("connect"); syswrite(S, $id)',
    ),
    { proxy: LOCAL },
  ],
  [
    "opens a raw socket, past the proxy",
    "claim",
    byProxy('socket(S, PF_INET, SOCK_RAW, 1) or failed("socket"); escaped("raw")'),
    { proxy: LOCAL },
  ],
  ...SPELLINGS.map(
    (host) =>
      [
        `has the proxy connect to this machine as ${host}`,
        "message",
        byProxy(`my $s = tunnel('${host}', $port); syswrite($s, $id)`),
        { proxy: PUBLIC },
      ] as const,
  ),
  [
    "has the proxy fetch from this machine",
    "message",
    byProxy('get("http://127.0.0.1:$port/$id", "127.0.0.1:$port", $port)'),
    { proxy: PUBLIC },
  ],
  [
    "has the proxy fetch from this machine under the name of another",
    "message",
    byProxy('get("http://127.0.0.1:$port/$id", "a.test", $port)'),
    { proxy: PUBLIC },
  ],
  [
    "has the proxy fetch from another host than the address says",
    "message",
    byProxy('get("http://a.test/$id", "127.0.0.1:$port", $port)'),
    { proxy: PUBLIC },
  ],
  [
    "has the proxy fetch a path from this machine",
    "message",
    byProxy('get("/$id", "127.0.0.1:$port", $port)'),
    { proxy: PUBLIC },
  ],
  [
    "has the proxy connect to this machine over SOCKS",
    "message",
    byProxy('my $s = socks(1, inet_aton("127.0.0.1"), $port); syswrite($s, $id)'),
    { proxy: PUBLIC },
  ],
  [
    "has the proxy connect to this machine over SOCKS by a name",
    "message",
    byProxy('my $s = socks(3, "\\x09localhost", $port); syswrite($s, $id)'),
    { proxy: PUBLIC },
  ],
  [
    "has the proxy connect to this machine over SOCKS by a mapped address",
    "message",
    byProxy('my $s = socks(4, inet_pton(AF_INET6, "::ffff:127.0.0.1"), $port); syswrite($s, $id)'),
    { proxy: PUBLIC },
  ],
  [
    "asks the server through the proxy",
    "change",
    askServer('talk(tunnel("127.0.0.1", $server))'),
    { proxy: LOCAL, onCodex: "escapes" },
  ],
  [
    "asks the server through the proxy by a name",
    "change",
    askServer('talk(tunnel("localhost", $server))'),
    { proxy: LOCAL, onCodex: "escapes" },
  ],
  [
    "asks the server through the proxy at another address",
    "change",
    askServer('talk(tunnel("127.0.0.2", $server))'),
    { proxy: LOCAL },
  ],
  [
    "asks the server through the proxy by a mapped address",
    "change",
    askServer('talk(tunnel("[::ffff:127.0.0.1]", $server))'),
    { proxy: LOCAL, onCodex: "escapes" },
  ],
  [
    "asks the server through the proxy at no address",
    "change",
    askServer('talk(tunnel("0.0.0.0", $server))'),
    { proxy: LOCAL, onCodex: "escapes" },
  ],
  [
    "asks the server over SOCKS",
    "change",
    askServer('talk(socks(1, inet_aton("127.0.0.1"), $server))'),
    { proxy: LOCAL, onCodex: "escapes" },
  ],
  ["asks the server past the proxy", "change", askServer("talk(dial($server))"), { proxy: LOCAL }],
]);
