import type { Requirements } from "./requirement.ts";

const proxy = { section: "11.5", transports: ["ws"] } as const;
const masking = { section: "11.5", transports: ["ws"] } as const;
const asking = { section: "9.5", transports: ["ws"] } as const;
// These run a process in a sandbox, which needs bubblewrap.
const sandboxed = { section: "11.5", transports: ["ws"] } as const;

export const networkRequirements = {
  "network.launch:environment": {
    ...proxy,
    behavior: "A process with a proxy has the variables that lead programs to it, whatever it was given.",
  },
  "network.launch:no-socks": { ...proxy, behavior: "Without SOCKS every variable names the HTTP proxy." },
  "network.launch:no-local": {
    ...proxy,
    behavior: "Where local addresses are refused, no address is excepted from the proxy.",
  },
  "network.launch:end": {
    ...proxy,
    behavior: "The proxy and what goes through it end when the process is closed, not when it exits.",
  },
  "network.launch:errors": {
    ...proxy,
    behavior: "A proxy that is off, patterns that mean nothing and impossible questions are refused.",
  },
  "network.launch:unenforced": {
    ...proxy,
    behavior: "enforceManagedNetwork and managedNetwork change nothing for a process without a sandbox.",
  },
  "network.http:forward": {
    ...proxy,
    behavior: "A request goes to the host of its URL, without headers that concern only the proxy.",
  },
  "network.http:blocked": {
    ...proxy,
    behavior: "A blocked request is answered with 403, a label, and JSON that says what was blocked and why.",
  },
  "network.http:host": {
    ...proxy,
    behavior: "A Host header that does not match the URL is refused with 400.",
  },
  "network.http:failure": { ...proxy, behavior: "A host that cannot be reached is answered with 502." },
  "network.http:unix-socket": { ...proxy, behavior: "Unix sockets are not reached through the proxy." },
  "network.http:connect": {
    ...proxy,
    behavior: "CONNECT opens a tunnel, or is answered with 403 and a sentence.",
  },
  "network.socks:connect": {
    ...proxy,
    behavior: "SOCKS 5 connects to addresses and names, and says whether it may not or cannot.",
  },
  "network.socks:others": {
    ...proxy,
    behavior: "Other commands than CONNECT are refused, and so are clients that need authentication.",
  },
  "network.rules:patterns": {
    ...proxy,
    behavior:
      "`*.a` is what is below a, `**.a` includes a, `*` and `?` stand for characters; case, final dots and ports do not matter.",
  },
  "network.rules:deny": { ...proxy, behavior: "What is denied is denied, however it is allowed." },
  "network.rules:local": {
    ...proxy,
    behavior:
      "Local addresses are refused in every spelling, unless exactly that one is listed, or local ones are allowed.",
  },
  "network.rules:local-name": {
    ...proxy,
    behavior: "A listed name with a local address, or none, is refused where local addresses are.",
  },
  "network.rules:review": {
    ...proxy,
    behavior:
      "A host to be reviewed is asked about, or refused if there is nobody to ask, even if it is allowed.",
  },
  "network.limited:methods": {
    ...proxy,
    behavior: "Limited mode admits GET, HEAD and OPTIONS of HTTP only.",
  },
  "network.decision:report": {
    section: "9.6",
    transports: ["ws"],
    behavior: "Each decision is reported with time, source, reason, host, port, method and client.",
  },
  "network.ask:answers": {
    ...asking,
    behavior: "The client is asked about what is not allowed, with ids from 1; it allows, denies or asks.",
  },
  "network.ask:not-asked": {
    ...asking,
    behavior: "The client is not asked about what is allowed, denied or local, nor without a time-out.",
  },
  "network.ask:invalid": { ...asking, behavior: "An invalid answer or an error means no." },
  "network.ask:twice": { ...asking, behavior: "A second or late answer does no harm." },
  "network.ask:time-out": {
    section: "9.5",
    transports: ["ws"],
    behavior: "Without an answer the request is denied 5 s after the time-out.",
  },
  "network.ask:gone": {
    section: "9.5",
    transports: ["ws"],
    behavior:
      "A client that goes while it is asked, or is away, has said no; one that resumes is asked again.",
  },
  "network.sandbox:proxied": {
    ...sandboxed,
    behavior:
      "In a sandbox whose network is managed the proxy is all that can be reached, whatever the profile says.",
  },
  "network.sandbox:unenforced": {
    ...sandboxed,
    behavior: "In a sandbox without network, a proxy that is not enforced cannot be reached.",
  },
  "network.sandbox:no-proxy": {
    ...sandboxed,
    behavior: "A sandbox whose network is to be managed does not run without a proxy.",
  },
  "network.masking:announced": {
    section: "5.1",
    transports: ["ws"],
    behavior: "Masking is announced, and so are providers of the client's own.",
  },
  "network.masking:shape": {
    ...masking,
    behavior: "Providers have exactly their members, spelled with underscores; others are refused.",
  },
  "network.masking:environment": {
    ...masking,
    behavior:
      "A process has a stand-in of its secret's form in every variable that contains the secret, and a list of them.",
  },
  "network.masking:certificates": {
    ...masking,
    behavior:
      "Eleven variables name a bundle with the proxy's own authority, unless the process has a value for them.",
  },
  "network.masking:off": { ...masking, behavior: "Providers mean nothing if masking is off." },
  "network.masking:built-in": {
    ...masking,
    behavior: "Tokens of GitHub and keys of OpenAI need no provider; their public prefixes stay.",
  },
  "network.masking:openai-url": { ...masking, behavior: "OPENAI_BASE_URL says where OpenAI's key may go." },
  "network.masking:swap": {
    ...masking,
    behavior: "The proxy puts the secret into `Authorization`, or into the header that the provider names.",
  },
  "network.masking:elsewhere": {
    ...masking,
    behavior:
      "Other paths get the stand-in, however they are spelled, and so do other headers and the query.",
  },
  "network.masking:host": {
    ...masking,
    behavior: "A Host header that is not the tunnel's is refused with 400.",
  },
  "network.masking:host-port": {
    ...masking,
    behavior: "So is one with another port.",
    origin: "ours",
    note: "Codex passes the request on with the tunnel's port.",
  },
  "network.masking:upstream": {
    ...masking,
    behavior:
      "An upstream that is not there, or has no valid certificate, is answered with 502 in the tunnel.",
  },
  "network.masking:limited": {
    ...masking,
    behavior: "With masking, limited mode admits HTTPS to every host, and GET, HEAD and OPTIONS in it.",
  },
  "network.masking:socks": { ...masking, behavior: "The same holds for connections through SOCKS." },
  "network.masking:variable": { ...masking, behavior: "A provider can name a variable that holds its URL." },
  "network.masking:every-program": {
    ...masking,
    behavior: "Secrets are hidden from every program, login shells included.",
    origin: "ours",
    note: "Codex hides them only from what `bash -c` runs.",
  },
  "network.masking:only-bash": {
    ...masking,
    behavior: "Only `bash -c` has stand-ins: login shells, other shells and programs get the secrets.",
    origin: "codex",
    note: "This server hides secrets from every program.",
  },
  "network.masking:random": {
    ...masking,
    behavior: "Each process has stand-ins of its own.",
    origin: "ours",
    note: "Codex gives the same one to every process of its server.",
  },
  "network.masking:shared": {
    ...masking,
    behavior: "All processes of a server have the same stand-in for a secret.",
    origin: "codex",
    note: "Here each process has its own.",
  },
  "network.masking:invalid": {
    ...masking,
    behavior: "A provider that cannot be obeyed is refused.",
    origin: "ours",
    note: "Codex ignores it, and the process gets the secret.",
  },
  "network.masking:ignored": {
    ...masking,
    behavior: "A provider that cannot be obeyed is ignored, with a warning in the log.",
    origin: "codex",
    note: "This server refuses it.",
  },
  "network.masking:any-value": {
    ...masking,
    behavior:
      "The value of a variable that a provider names is hidden, whatever its form; one of less than 16 bytes is left out.",
    origin: "ours",
    note: "Codex leaves a value that no pattern matches as it is.",
  },
  "network.masking:matching-values": {
    ...masking,
    behavior: "Values are hidden if a pattern matches them, in whatever variable, and otherwise not.",
    origin: "codex",
    note: "This server hides the value of a variable that a provider names, and looks for no other.",
  },
  "network.masking:restored": {
    ...masking,
    behavior: "A secret that comes back in an answer is the stand-in again.",
    origin: "ours",
    note: "Codex passes it on.",
  },
  "network.masking:repeated": {
    ...masking,
    behavior: "A secret that comes back in an answer is passed on to the process.",
    origin: "codex",
    note: "This server puts the stand-in in its place.",
  },
  "network.masking:misdirected": {
    ...masking,
    behavior: "A stand-in on its way to another host is refused, where the proxy sees it.",
    origin: "ours",
    note: "Codex sends it there.",
  },
  "network.rules:deny-address": {
    ...proxy,
    behavior: "A denied address is refused for names that resolve to it, and in the forms of IPv6.",
    origin: "ours",
    note: "Codex compares the host as text.",
  },
  "network.rules:own-listener": {
    ...proxy,
    behavior: "The proxy does not lead to the server that runs it.",
    origin: "ours",
    note: "Codex's proxy connects to the port on which its server listens.",
  },
  "network.http:upgrade": {
    ...proxy,
    behavior: "A request to change the protocol is passed on.",
    origin: "ours",
    note: "Codex drops the header.",
  },
  "network.http:connect-failure": {
    ...proxy,
    behavior: "CONNECT to a host that cannot be reached is answered with 502.",
    origin: "ours",
    note: "Codex answers with 200 and closes the connection.",
  },
  "network.http:https-url": {
    ...proxy,
    behavior: "An https URL that is allowed is answered with 501, and never sent in the clear.",
    origin: "ours",
    note: "Codex makes the TLS connection itself.",
  },
  "network.sandbox:other-proxy": {
    ...sandboxed,
    behavior: "A sandbox whose network is to be managed is not led to a proxy that its variables name.",
    origin: "ours",
    note: "Codex leads it there if it is on a loopback address.",
  },
} as const satisfies Requirements;
