import type { Requirements } from "./requirement.ts";

export const listenRequirements = {
  "ws:text-frames": { section: "1.4", behavior: "The server sends text frames.", transports: ["ws"] },
  "ws:binary-accepted": {
    section: "1.4",
    behavior: "A message in a binary frame is served, and answered in a text frame.",
    transports: ["ws"],
  },
  "ws:fragments": { section: "1.4", behavior: "A message may come in fragments.", transports: ["ws"] },
  "ws:fragments-binary": {
    section: "1.4",
    behavior: "A binary message may come in fragments.",
    transports: ["ws"],
  },
  "ws:ping-between-fragments": {
    section: "1.4",
    behavior: "A ping between two fragments is answered and disturbs nothing.",
    transports: ["ws"],
  },
  "ws:frame-limit": { section: "1.4", behavior: "A frame of 16 MiB is served.", transports: ["ws"] },
  "ws:frame-over-limit": {
    section: "1.4",
    behavior: "A frame one byte over 16 MiB ends the connection.",
    transports: ["ws"],
  },
  "ws:message-limit": {
    section: "1.4",
    behavior: "A fragmented message of 64 MiB is served.",
    transports: ["ws"],
  },
  "ws:message-over-limit": {
    section: "1.4",
    behavior: "A fragmented message one byte over 64 MiB ends the connection.",
    transports: ["ws"],
  },
  "ws:ping-answered": {
    section: "1.4",
    behavior: "A ping is answered by a pong with the same payload.",
    transports: ["ws"],
  },
  "ws:pong-ignored": { section: "1.4", behavior: "An unasked pong is ignored.", transports: ["ws"] },
  "ws:keepalive": {
    section: "1.4",
    behavior: "The server sends an empty ping 30 s after the connection began.",
    transports: ["ws"],
  },
  "ws:invalid-utf8": {
    section: "1.4",
    behavior: "A text frame that is not UTF-8 ends the connection.",
    transports: ["ws"],
  },
  "ws:broken-frames": {
    section: "1.4",
    behavior: "A frame that breaks the websocket protocol ends the connection.",
    transports: ["ws"],
  },
  "ws:query": { section: "1.4", behavior: "The upgrade may carry a query string.", transports: ["ws"] },
  "ws:other-path": {
    section: "1.4",
    behavior: "An upgrade on any path but / is answered 404 with an empty body.",
    transports: ["ws"],
  },
  "ws:no-subprotocol": { section: "1.4", behavior: "No subprotocol is ever selected.", transports: ["ws"] },
  "ws:no-compression": { section: "1.4", behavior: "No extension is ever negotiated.", transports: ["ws"] },
  "ws:upgrade-spelling": {
    section: "1.4",
    behavior: "The upgrade headers are read without regard to case, and Connection as a list.",
    transports: ["ws"],
  },
  "ws:upgrade-accept": {
    section: "1.4",
    behavior: "The upgrade is answered 101 with the accept value of the key.",
    transports: ["ws"],
  },

  "http.readyz:get": {
    section: "1.4",
    behavior: "GET /readyz is answered 200 with an empty body.",
    transports: ["ws"],
  },
  "http.readyz:head": { section: "1.4", behavior: "HEAD /readyz is answered 200.", transports: ["ws"] },
  "http.readyz:query": { section: "1.4", behavior: "/readyz may carry a query string.", transports: ["ws"] },
  "http.readyz:other-methods": {
    section: "1.4",
    behavior: "Other methods on /readyz are answered 405 with allow: GET,HEAD.",
    transports: ["ws"],
  },
  "http.readyz:upgrade": {
    section: "1.4",
    behavior: "An upgrade on /readyz is answered like a plain GET.",
    transports: ["ws"],
  },
  "http.root:get": {
    section: "1.4",
    behavior: "GET / without upgrade is answered 400 and says what is missing.",
    transports: ["ws"],
  },
  "http.root:browser": {
    section: "ours",
    behavior: "GET / of a browser, which asks for text/html, is answered with the web console.",
    transports: ["ws"],
    origin: "ours",
    note: "Answers 400, as every other GET.",
  },
  "http.root:post": {
    section: "1.4",
    behavior: "Another method on / is answered 405, upgrade headers or not.",
    transports: ["ws"],
  },
  "http.root:head": { section: "1.4", behavior: "HEAD / is answered 405.", transports: ["ws"] },
  "http.upgrade:connection-header": {
    section: "1.4",
    behavior: "An upgrade whose Connection header lacks `upgrade` is answered 400.",
    transports: ["ws"],
  },
  "http.upgrade:upgrade-header": {
    section: "1.4",
    behavior: "An upgrade whose Upgrade header is missing or not `websocket` is answered 400.",
    transports: ["ws"],
  },
  "http.upgrade:version": {
    section: "1.4",
    behavior: "An upgrade of another websocket version, or of none, is answered 400.",
    transports: ["ws"],
  },
  "http.upgrade:key": {
    section: "1.4",
    behavior: "An upgrade without key is answered 400.",
    transports: ["ws"],
  },
  "http:not-found": {
    section: "1.4",
    behavior: "Any other path is answered 404 with an empty body, whatever the method.",
    transports: ["ws"],
  },
  "http:keep-alive": {
    section: "1.4",
    behavior: "One connection may carry several requests.",
    transports: ["ws"],
  },
  "http:garbage": {
    section: "1.4",
    behavior: "What is not HTTP is answered 400 and the connection ends.",
    transports: ["ws"],
  },
  "http.origin:readyz": {
    section: "1.4",
    behavior: "A request with an Origin header is answered 403, on /readyz too, whatever the origin.",
    transports: ["ws"],
  },
  "http.origin:upgrade": {
    section: "1.4",
    behavior: "An upgrade with an Origin header is answered 403, the server's own origin included.",
    transports: ["ws"],
  },
  "http.origin:first": {
    section: "1.4",
    behavior: "The Origin header is refused before path and method are looked at.",
    transports: ["ws"],
  },

  "stdio:crlf": { section: "1.5", behavior: "Lines may end in CR LF.", transports: ["stdio"] },
  "stdio:blank-lines": {
    section: "1.5",
    behavior: "Blank lines, and lines of white space, are ignored.",
    transports: ["stdio"],
  },
  "stdio:chunks": {
    section: "1.5",
    behavior: "A line may arrive in pieces, and several lines at once.",
    transports: ["stdio"],
  },
  "stdio:one-line-each": {
    section: "1.5",
    behavior: "Stdout carries one line per message and nothing else: no banner.",
    transports: ["stdio"],
  },
  "stdio:line-limit": {
    section: "1.5",
    behavior: "A line of 64 MiB is served, its terminator not counted.",
    transports: ["stdio"],
  },
  "stdio:line-over-limit": {
    section: "1.5",
    behavior: "A line one byte over 64 MiB ends the server with status 0.",
    transports: ["stdio"],
  },
  "stdio:invalid-utf8": {
    section: "1.5",
    behavior:
      "A line that is not UTF-8 is malformed: it is told, what was asked before it is answered, and the connection goes on.",
    transports: ["stdio"],
    origin: "ours",
    note: "Ends with status 0, without the answers that it has not written yet.",
  },
  "stdio.eof:exit": {
    section: "1.5",
    behavior: "The end of stdin ends the server with status 0.",
    transports: ["stdio"],
  },
  "stdio.eof:before-handshake": {
    section: "1.5",
    behavior: "The end of stdin ends the server when nothing was ever sent.",
    transports: ["stdio"],
  },
  "stdio.eof:kills": {
    section: "1.5",
    behavior:
      "At the end of stdin the processes are killed at once, without the grace of a detached session.",
    transports: ["stdio"],
  },
  "stdio.eof:while-waiting": {
    section: "1.5",
    behavior: "The end of stdin does not wait for a long poll.",
    transports: ["stdio"],
  },
  "stdio:violation-exit": {
    section: "1.5",
    behavior: "A violation that ends a connection ends the stdio server with status 0.",
    transports: ["stdio"],
    knownFailures: [{ target: "codex", note: "stops answering, but stays until stdin ends" }],
  },

  "cli.banner:url": {
    section: "1.6",
    behavior:
      "A listening server prints its URL with the bound port as the only line on stdout, and nothing on stderr (ours with --no-console).",
    transports: ["cli"],
  },
  "cli.banner:console": {
    section: "ours",
    behavior: "A server that listens on TCP prints a link to its web console as the only line on stderr.",
    transports: ["cli"],
    origin: "ours",
    note: "Prints nothing on stderr.",
  },
  "cli.banner:ipv6": {
    section: "1.6",
    behavior: "An IPv6 address is printed in brackets.",
    transports: ["cli"],
  },
  "cli.listen:default": {
    section: "1.6",
    behavior: "Without --listen the server takes a free port on 127.0.0.1.",
    transports: ["cli"],
  },
  "cli.listen:port": {
    section: "1.6",
    behavior: "A port that is named is the port that is bound.",
    transports: ["cli"],
  },
  "cli.listen:equals": {
    section: "1.6",
    behavior: "--listen=URL is the same as --listen URL.",
    transports: ["cli"],
  },
  "cli.listen:stdio-url": { section: "1.6", behavior: "stdio:// is the same as stdio.", transports: ["cli"] },
  "cli.listen:stdio-flag": {
    section: "1.6",
    behavior: "--stdio is the same as --listen stdio, and cannot be given with --listen.",
    transports: ["cli"],
    origin: "ours",
    note: "Codex has no such flag: a usage error.",
  },
  "cli.listen:unsupported": {
    section: "1.6",
    behavior: "A --listen URL that is neither ws:// nor stdio is refused with status 1.",
    transports: ["cli"],
  },
  "cli.listen:invalid": {
    section: "1.6",
    behavior: "A ws:// URL that is not an IP address and a port is refused with status 1.",
    transports: ["cli"],
  },
  "cli.listen:in-use": {
    section: "1.6",
    behavior: "A port in use is refused with status 1. Ours names the address.",
    transports: ["cli"],
  },
  "cli.listen:not-local": {
    section: "1.6",
    behavior: "An address the machine does not have is refused with status 1.",
    transports: ["cli"],
  },
  "cli.listen:twice": {
    section: "1.6",
    behavior: "--listen given twice is a usage error, status 2.",
    transports: ["cli"],
  },
  "cli.listen:no-value": {
    section: "1.6",
    behavior: "--listen without URL is a usage error, status 2.",
    transports: ["cli"],
  },
  "cli.listen:non-loopback": {
    section: "1.6",
    behavior: "An address other machines can reach is refused unless clients must authenticate.",
    transports: ["cli"],
    origin: "ours",
    note: "The real server binds any address without a word.",
  },
  "cli.concurrent-requests:zero": {
    section: "1.6",
    behavior: "--concurrent-requests 0 is a usage error, status 2.",
    transports: ["cli"],
  },
  "cli.concurrent-requests:not-a-count": {
    section: "1.6",
    behavior: "--concurrent-requests with anything but a whole number is a usage error, status 2.",
    transports: ["cli"],
  },
  "cli:unknown-option": {
    section: "1.6",
    behavior: "An unknown option is a usage error, status 2.",
    transports: ["cli"],
  },
  "cli:remote-and-listen": {
    section: "1.6",
    behavior: "--remote together with --listen is a usage error, status 2.",
    origin: "codex",
    note: "Is one server with two doors.",
    transports: ["cli"],
  },
  "cli:help": {
    section: "1.6",
    behavior: "--help prints on stdout and ends with status 0.",
    transports: ["cli"],
  },
  "cli.signal:sigterm": {
    section: "1.6",
    behavior: "SIGTERM ends the server with status 0.",
    transports: ["cli"],
  },
  "cli.signal:sigint": {
    section: "1.6",
    behavior: "SIGINT ends the server with status 0.",
    transports: ["cli"],
  },
  "cli.signal:connections": {
    section: "1.6",
    behavior: "A server that is told to end drops its connections and frees its port.",
    transports: ["cli"],
  },
  "cli.signal:stdio": {
    section: "1.6",
    behavior: "SIGTERM and SIGINT end a stdio server with status 0 while its stdin is open.",
    transports: ["cli"],
    knownFailures: [{ target: "codex", note: "waits for the end of stdin" }],
  },
} satisfies Requirements;
