import type { Command } from "commander";
import { endWith } from "../end-with.ts";
import { type ListOptions, listFleets } from "../fleet/list-fleets.ts";
import { type Labels, parseLabels } from "../fleet/parse-labels.ts";
import { watchFleet } from "../fleet/watch-fleet.ts";

const EXAMPLES = `
A fleet is a table of ~/.config/exec-server/hosts.toml:
  [fleets.prod]
  servers = ["nats://nats.example:4222"]
  user = "anna"
  password = "…"
  auth_bearer_token = "…"

NATS is entered with user and password, with credentials (the path of a credentials file) or with nkey (the path of a
file with a seed); ca, cert and key are for tls:// servers, inbox is the name to which NATS restricts a client. The token
is that of the executors; --token-file is used instead of it. Paths are relative to the directory of hosts.toml.
If there is only one fleet, its name may be left out.

Examples:
  exec-server fleet ls
  exec-server fleet ls prod --label zone=eu
  exec-server -H prod/web-1 run -- uptime
`;

interface GlobalOptions {
  readonly host?: string;
  readonly tokenFile?: string;
  readonly debug?: boolean;
  readonly json?: boolean;
}

/** Adds `fleet` and its subcommands. */
export function define(program: Command): void {
  const fleet = program
    .command("fleet")
    .summary("machines that are reached over NATS")
    .description("List the machines of a fleet, which are reached over NATS.")
    .usage("COMMAND")
    .addHelpText("after", EXAMPLES);
  const list = fleet
    .command("ls")
    .alias("list")
    .description("List the executors of a fleet, or of all fleets.")
    .argument("[fleet]")
    .option("--label <KEY=VALUE>", "only those with this label; may be repeated", parseLabels)
    .option("--json", "print one JSON document")
    .action(async (name?: string) => {
      const options = list.optsWithGlobals<ListOptions & GlobalOptions & { label?: Labels }>();
      await endWith(await listFleets(name ?? options.host, options));
    });
  const watch = fleet
    .command("watch")
    .description("Print who is in a fleet, and then who joins, changes and leaves, until Ctrl-C.")
    .argument("[fleet]")
    .option("--json", "print each as one line of JSON")
    .action(async (name?: string) => {
      const options = watch.optsWithGlobals<GlobalOptions>();
      await watchFleet(name ?? options.host, options);
      await endWith(0);
    });
}
