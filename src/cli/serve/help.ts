import {
  LIMIT_NAMES,
  LIMITS,
  limitFlag,
  limitValueName,
  type LimitDefinition,
} from "../../server/settings/limits.ts";

const COLUMN = 37;

export const help = (): string => `Run processes and terminals on this machine for programs elsewhere

Usage: exec-server [serve] [OPTIONS]
       exec-server --help            All commands, for people

Options:
      --listen <URL>                 Address: ws://IP:PORT (port 0 picks a free port), wss://IP:PORT with
                                     TLS, unix:///PATH for a socket that only this user can connect to,
                                     ws://fd:3 for the socket that systemd passes,
                                     stdio to serve one client on stdin and stdout, or none to be reached
                                     over a fleet or a relay alone
                                     [default: ws://127.0.0.1:0, with --remote none]
      --stdio                        Same as --listen stdio
      --concurrent-requests <COUNT>  Maximum number of requests that run concurrently per connection;
                                     1 runs them in the order they arrive [default: 1]
      --ws-auth <MODE>               Authentication: capability-token (clients send a shared secret),
                                     signed-bearer-token (clients send a JWT signed with HS256) or
                                     token-table (each client has a named token with its own rights)
      --ws-token-file <PATH>         File with the capability token
      --ws-token-sha256 <HEX>        SHA-256 digest of the capability token, instead of a token file
      --ws-shared-secret-file <PATH>
                                     File with the secret that signs tokens, at least 32 bytes
      --ws-issuer <ISSUER>           Required 'iss' of a signed token
      --ws-audience <AUDIENCE>       Required 'aud' of a signed token
      --ws-max-clock-skew-seconds <SECONDS>
                                     Tolerated clock difference for signed tokens [default: 30]
      --ws-token-table <PATH>        TOML file with [[token]]: names, digests, rights; read again when it changes
      --tls-cert <PATH>              Certificate for wss://, followed by those between it and the root;
                                     this and the next two are read again when they change
      --tls-key <PATH>               Private key of the certificate
      --tls-client-ca <PATH>         Require a client certificate that one of these has signed
      --public-url <URL>             Clients also reach the server by the host of this URL; requests for
                                     hosts that it does not know are refused; repeatable
      --allow-origin <ORIGIN>        Pages of this origin may connect, such as https://example.com;
                                     repeatable
      --allow-local-users            Without authentication, admit all users of this machine to a loopback
                                     address, not only the server's own user and root
      --insecure-no-auth             Serve a non-loopback address or a fleet without authentication
      --fleet <FLEET>                Join a fleet over NATS: nats://HOST:PORT, tls://HOST:PORT, or a TOML file
                                     with servers, credentials, nkey, user, password, ca, cert and key
      --id <NAME>                    Name of this executor in the fleet; a newer one of the same name replaces
                                     it [default: the host name]
      --label <KEY=VALUE>            What clients choose executors by; repeatable
      --slots <COUNT>                How many processes it is meant to run at a time, for programs that choose
                                     [default: the number of cores]
      --remote <URL>                 Register with a relay, through which clients reach this server; its
                                     credential is CODEX_API_KEY, or one of the next two
      --registration-bearer-stdin    Read the relay's token from the first line of stdin
      --executor-credential-stdin    Read credentials from stdin, one JSON object per line, each of which
                                     replaces the one before; the server ends with the pipe
      --environment-id <ID>          Name under which clients find this server at the relay
      --name <NAME>                  Accepted for Codex; has no effect
      --exit-on-stdin-close          End when stdin does
      --identity <PATH>              File with the key that clients know this server by at the relay; created
                                     if it does not exist [default: a new key each time]
      --authorized-clients <PATH>    Admit only clients of the relay whose fingerprints are in this file, one
                                     on each line
      --log-level <LEVEL>            Log level on stderr: error, warn, info or debug [default: warn]
      --log-file <PATH>              Write the log there instead; the file is started anew at 1 MiB, and the
                                     one before is kept as PATH.old
      --log-format <FORMAT>          json, one object per line, or text for people [default: text on a
                                     terminal, else json]
      --audit <PATH>                 Record there, as JSON lines chained by hashes, what clients do and what is
                                     refused; see 'exec-server audit --help'
      --audit-max-bytes <BYTES>      Size at which that file becomes PATH.1, PATH.2 and so on
                                     [default: 67108864]
      --audit-failure <MODE>         What to do while it cannot be written: refuse what would have to be
                                     recorded, or continue [default: refuse]
      --metrics                      Answer GET /metrics, in the OpenMetrics format, for anyone who may connect
      --mcp                          Serve MCP clients such as Claude Code over HTTP at /mcp, with the rights of
                                     their tokens; needs --ws-auth
      --mcp-root <PATH>              Directory that they may change [default: the working directory]; repeatable
      --mcp-sandbox <NAME>           Confine their commands: workspace-write, read-only or none
                                     [default: workspace-write]
      --mcp-network                  Give their commands a network, and offer http_request
      --mcp-tools <NAMES>            Offer only these tools, such as read_file,search_files
      --mcp-ask <NAMES>              Have the client ask its user before each call of these tools
      --no-console                   Do not serve the web console, to which a link is printed on stderr if the
                                     address is ws:// or wss://
      --exit-when-idle <DURATION>    End when for that long (90s, 10m, 2h) there was no connection, no session
                                     and no kept process
      --sandbox <NAME>               Confine all clients: read-only, or workspace-write (the server's working
                                     directory is writable); their own sandbox can only narrow it
      --require-sandbox              Refuse processes and file calls that bring no sandbox of their own
      --run-as <USER>                Do everything that clients ask for as this user, given by name or number,
                                     so that they cannot reach the server's own files; needs root
      --durable <DIR>                Keep sessions and what runs when this server ends or crashes: the next one
                                     with this directory continues with them; see 'exec-server durable --help'
      --config <PATH>                TOML file with [limits], [sandbox], [local], [tls], [audit] and [fleet];
                                     files that it names begin at its directory; flags override it
  -h, --help                         Print help
  -V, --version                      Print version

Limits, also available as keys in the configuration file (max_connections = 100):
${LIMIT_NAMES.map(describeLimit).join("")}
The server prints its address as one line on stdout, or fleet:NAME or relay:ID with --listen none,
when clients can reach it there. Non-loopback addresses and fleets require --ws-auth. A server with --listen none
ends with status 3 when a newer executor of its name has joined the fleet, and with status 1 when the relay refuses it.
Clients send their token in the header 'Authorization: Bearer TOKEN', pages as a subprotocol.
SIGTERM and SIGINT stop the server and every process group it started; before that, SIGTERM gives
processes their --drain-timeout-ms. With --durable they only disconnect clients, which find everything again.
`;

function describeLimit(name: (typeof LIMIT_NAMES)[number]): string {
  const limit: LimitDefinition = LIMITS[name];
  const flag = `      --${limitFlag(name)} <${limitValueName(name)}>`;
  const range = limit.kind === "number" ? `, from ${limit.min} to ${limit.max}` : "";
  const fallback = limit.kind === "paths" ? "separated by ':'" : `default: ${limit.default}${range}`;
  const meaning = `${limit.doc} [${fallback}]\n`;
  const start = flag.length < COLUMN - 1 ? flag.padEnd(COLUMN) : `${flag}\n${" ".repeat(COLUMN)}`;
  return `${start}${meaning}`;
}
