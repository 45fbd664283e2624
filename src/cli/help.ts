import { LIMIT_NAMES, LIMITS, limitFlag, limitValueName, type LimitDefinition } from "../server/limits.ts";

const COLUMN = 37;
const WIDTH = 100;

export const help = (): string => `Run processes and terminals on this machine for programs elsewhere

Usage: exec-server [serve] [OPTIONS]

Options:
      --listen <URL>                 Where to serve: ws://IP:PORT (port 0 takes a free one), or stdio
                                     for one client on stdin and stdout [default: ws://127.0.0.1:0]
      --stdio                        The same as --listen stdio
      --concurrent-requests <COUNT>  Requests of one connection that run at once; with 1 they run in
                                     the order they came [default: 1]
      --ws-auth <MODE>               Who may connect: capability-token (a secret that the client shows) or
                                     signed-bearer-token (a JWT signed with HS256)
      --ws-token-file <PATH>         File with the capability token
      --ws-token-sha256 <HEX>        SHA-256 of the capability token, instead of the token itself
      --ws-shared-secret-file <PATH> File with the secret that signs tokens, at least 32 bytes
      --ws-issuer <ISSUER>           Required 'iss' of a signed token
      --ws-audience <AUDIENCE>       Required 'aud' of a signed token
      --ws-max-clock-skew-seconds <SECONDS>
                                     How far clocks may differ [default: 30]
      --insecure-no-auth             Serve an address that others can reach without authentication
      --log-level <LEVEL>            What is logged on stderr: error, warn, info or debug
                                     [default: warn]
      --config <PATH>                TOML file with limits in a table [limits]; flags win over it
  -h, --help                         Print help
  -V, --version                      Print version

Limits, also as keys of the configuration file (max_connections = 100):
${LIMIT_NAMES.map(describeLimit).join("")}
The address is printed on stdout, as one line. Addresses other than loopback need --ws-auth.
Clients show their token in the header 'Authorization: Bearer TOKEN'.
SIGTERM and SIGINT end the server and all that it started.
`;

function describeLimit(name: (typeof LIMIT_NAMES)[number]): string {
  const limit: LimitDefinition = LIMITS[name];
  const flag = `      --${limitFlag(name)} <${limitValueName(name)}>`;
  const range = limit.kind === "number" ? `, from ${limit.min} to ${limit.max}` : "";
  const fallback = limit.kind === "paths" ? "separated by ':'" : `default: ${limit.default}${range}`;
  const lines = wrap(`${limit.doc} [${fallback}]`);
  const first = flag.length < COLUMN ? `${flag.padEnd(COLUMN)}${lines.shift()}\n` : `${flag}\n`;
  return first + lines.map((line) => `${" ".repeat(COLUMN)}${line}\n`).join("");
}

function wrap(text: string): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && COLUMN + line.length + 1 + word.length > WIDTH) {
      lines.push(line);
      line = word;
    } else {
      line = line === "" ? word : `${line} ${word}`;
    }
  }
  return [...lines, line];
}
