import type { Command } from "commander";

/** Options of every command that talks to a server. */
export interface TargetOptions {
  readonly host?: string;
  readonly url?: string;
  readonly tokenFile?: string;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly debug?: boolean;
}

/** Adds these options. They may come before or after the name of the command. */
export function withTarget(command: Command): Command {
  return command
    .optionsGroup("Where it runs:")
    .option("-H, --host <NAME>", "a host of hosts.toml, FLEET/NAME, or ssh://[USER@]MACHINE[:PORT]")
    .option("--url <URL>", "a server: ws://HOST:PORT, wss://HOST:PORT or ws+unix:///PATH")
    .option("--token-file <PATH>", "file with the token for --url, or for a fleet")
    .option("--ca <PATH>", "authorities that may have signed the certificate of a wss:// server")
    .option("--cert <PATH>", "client certificate for a wss:// server, with --key")
    .option("--key <PATH>", "private key of --cert")
    .option("--debug", "show on stderr every message that is sent and received")
    .optionsGroup("Options:");
}
