import type { Command } from "commander";
import { endWith } from "../outcome/end-with.ts";
import { withOn } from "../fleet/chosen-machines.ts";
import type { ExecutorsOptions } from "../fleet/chosen-executors.ts";
import { setCordoned } from "../fleet/cordon-executors.ts";
import { drain } from "../fleet/drain-executors.ts";
import { type ListOptions, listFleets } from "../fleet/list-fleets.ts";
import { type Labels, parseLabels } from "../fleet/parse-labels.ts";
import { watchFleet } from "../fleet/watch-fleet.ts";
import { parseDurationArgument } from "../arguments.ts";

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
  exec-server fleet drain prod --on zone=eu && exec-server fleet uncordon prod --on zone=eu
`;

const DRAIN_STATUS = `
The status is the highest of all executors: 0 for one on which nothing runs, 1 for one that cannot be reached, is being
stopped, leaves, or gets new work again before that, 124 for one that still runs something after --timeout. All stay cordoned in any case.
`;

interface GlobalOptions {
  readonly host?: string;
  readonly tokenFile?: string;
  readonly debug?: boolean;
  readonly json?: boolean;
}

type Chosen = GlobalOptions & ExecutorsOptions;

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
  const cordon = ofExecutors(
    fleet.command("cordon"),
    "Give executors no new work. They stay reachable, until 'uncordon' or until their server ends.",
  ).action(async (names: string[]) => {
    await endWith(await setCordoned(names, true, cordon.optsWithGlobals<Chosen>()));
  });
  const uncordon = ofExecutors(fleet.command("uncordon"), "Give executors new work again.").action(
    async (names: string[]) => {
      await endWith(await setCordoned(names, false, uncordon.optsWithGlobals<Chosen>()));
    },
  );
  const draining = ofExecutors(
    fleet.command("drain"),
    "Give executors no new work, and wait until nothing runs there.",
  )
    .option("--timeout <DURATION>", "wait no longer than this: 30s, 10m", parseDurationArgument)
    .addHelpText("after", DRAIN_STATUS)
    .action(async (names: string[]) => {
      await endWith(await drain(names, draining.optsWithGlobals<Chosen & { timeout?: number }>()));
    });
}

/** Adds what says which executors a command is about. */
function ofExecutors(command: Command, description: string): Command {
  return withOn(
    command.description(description).argument("[fleet/name...]"),
    "all executors of the fleet that have these labels: K=V[,K=V], or all",
  ).option("--token-file <PATH>", "file with the token of the executors");
}
