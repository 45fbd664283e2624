import type { Command } from "commander";
import { endWith } from "../end-with.ts";
import { drain, setCordoned } from "../fleet/cordon-executor.ts";
import { type ListOptions, listFleets } from "../fleet/list-fleets.ts";
import { type Labels, parseLabels } from "../fleet/parse-labels.ts";
import { watchFleet } from "../fleet/watch-fleet.ts";
import { parseDurationArgument } from "../duration-argument.ts";

const EXAMPLES = `
A fleet is a table of ~/.config/exec-server/hosts.toml:
  [fleets.prod]
  servers = ["nats://nats.example:4222"]
  user = "anna"
  password = "…"
  auth_bearer_token = "…"

NATS is entered with user and password, with credentials (the path of a credentials file), or with nkey (the path of a
file with a seed); ca, cert and key are for tls:// servers, and inbox is the name to which NATS restricts a client. The
token is that of the executors; --token-file is used instead of it. Paths are relative to the directory of hosts.toml.
If there is only one fleet, its name may be left out.

Examples:
  exec-server fleet ls
  exec-server fleet ls prod --label zone=eu
  exec-server -H prod/web-1 run -- uptime
  exec-server fleet drain prod/web-1 --timeout 10m
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
    .description(
      "List the machines of a fleet, which are reached over NATS, and say which ones get new work.",
    )
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
  const cordon = fleet
    .command("cordon")
    .description(
      "Give an executor no new work. It stays reachable, until 'uncordon' or until its server ends.",
    )
    .argument("<fleet/name>")
    .option("--token-file <PATH>", "file with the token of the executor")
    .action(async (name: string) => {
      await setCordoned(name, true, cordon.optsWithGlobals<GlobalOptions>());
      await endWith(0);
    });
  const uncordon = fleet
    .command("uncordon")
    .description("Give an executor new work again.")
    .argument("<fleet/name>")
    .option("--token-file <PATH>", "file with the token of the executor")
    .action(async (name: string) => {
      await setCordoned(name, false, uncordon.optsWithGlobals<GlobalOptions>());
      await endWith(0);
    });
  const draining = fleet
    .command("drain")
    .description("Give an executor no new work, and wait until nothing runs there.")
    .argument("<fleet/name>")
    .option("--timeout <DURATION>", "wait no longer than this: 30s, 10m", parseDurationArgument)
    .option("--token-file <PATH>", "file with the token of the executor")
    .addHelpText(
      "after",
      "\nStatus: 0 when nothing runs there; 124 after --timeout; 1 if it cannot be reached, or leaves before.\nIt stays cordoned in any case.\n",
    )
    .action(async (name: string) => {
      await drain(name, draining.optsWithGlobals<GlobalOptions & { timeout?: number }>());
      await endWith(0);
    });
}
