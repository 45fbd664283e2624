import { usageFailure } from "../shared/failure.ts";

export const help = `Run a relay through which clients reach executors that cannot be reached directly

Usage: exec-server relay [--listen URL] [OPTIONS]
       exec-server relay ls --relay URL [--token-file PATH] [--ca PATH] [--json]
       exec-server relay fingerprint [--identity PATH]
       exec-server relay credential --tokens PATH --environment-id ID [--expires TIME]

An executor registers with 'exec-server --remote URL --environment-id ID', or with 'codex
exec-server' and the same flags; a client connects with '--url relay+https://HOST/ID'. What they
say to each other is encrypted between the two: the relay passes it on and cannot read it. The
relay's address is printed on stdout.

Options:
      --listen <URL>       http://IP:PORT, where port 0 picks a free one, or https://IP:PORT
                           [default: http://127.0.0.1:0]
      --public-url <URL>   Address under which both ends reach the relay [default: the one they use]
      --tokens <PATH>      Token table: who may register and connect; required beyond this machine
      --tls-cert <PATH>    Certificate, with those between it and the root, for https://
      --tls-key <PATH>     Private key of the certificate
      --audit <PATH>       Record there who registers and who connects, as JSON lines chained by
                           hashes; --audit-max-bytes and --audit-failure are those of a server
      --log-level <LEVEL>  error, warn, info or debug [default: info]
      --log-file <PATH>    Log file [default: stderr]
      --log-format <FORMAT>  json or text [default: text on a terminal, else json]
  -h, --help               Print help

Options of 'ls':
      --relay <URL>        Address of the relay; a token needs https:// beyond this machine
      --token-file <PATH>  File with your token [default: EXEC_SERVER_TOKEN]
      --ca <PATH>          CA certificates to trust with https:// [default: EXEC_SERVER_CA]
      --json               Print JSON

Options of 'credential':
      --tokens <PATH>        Token table of the relay
      --environment-id <ID>  Environment that can be registered with the token
      --expires <DURATION>   30m, 1h or 2d, at most 36500d [default: 1h]

Options of 'fingerprint':
      --identity <PATH>    File with a key [default: your own, which is created if there is none]

'ls' lists the environments that a token may use. 'credential' adds a token with which one executor
can register, and prints the line for its '--executor-credential-stdin'. 'fingerprint' prints the
fingerprint of your own key, or of the one in a file, for '--authorized-clients' of an executor.

Examples:
  exec-server relay --listen https://0.0.0.0:8443 --tls-cert c.pem --tls-key k.pem --tokens t.toml
  exec-server relay credential --tokens t.toml --environment-id build-1 --expires 1d
  exec-server relay ls --relay https://relay.example:8443 --token-file token
`;

/** Runs a relay, or asks about one. */
export async function run(args: readonly string[]): Promise<void> {
  const [first = "", ...rest] = args;
  if (first === "ls") {
    const { listRelay } = await import("./relay/relay-ls.ts");
    await listRelay(rest);
  } else if (first === "credential") {
    const { makeCredential } = await import("./relay/relay-credential.ts");
    await makeCredential(rest);
  } else if (first === "fingerprint") {
    const { printFingerprint } = await import("./relay/relay-fingerprint.ts");
    await printFingerprint(rest);
  } else if (first !== "" && !first.startsWith("-"))
    throw usageFailure(`unexpected argument '${first}' found`);
  else {
    const { runRelay } = await import("./relay/run-relay.ts");
    await runRelay(args);
  }
}
