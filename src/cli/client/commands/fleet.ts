import type { Command } from "commander";
import { parseDurationArgument } from "../arguments.ts";
import { withOn } from "../fleet/chosen-machines.ts";
import { cordon, uncordon } from "../fleet/cordon-executors.ts";
import { drain } from "../fleet/drain-executors.ts";
import { listFleets } from "../fleet/list-fleets.ts";
import { addFleet, type AddFleetOptions, removeFleet } from "../fleet/name-fleets.ts";
import { parseLabels } from "../fleet/parse-labels.ts";
import { watchFleet } from "../fleet/watch-fleet.ts";
import { setAction } from "../outcome/end-with.ts";

const EXAMPLES = `
Fleets are tables [fleets.NAME] of ~/.config/exec-server/hosts.toml. If there is only one, its name may be left out.

Examples:
  exec-server fleet add prod tls://nats.example:4222 --ca ca.pem --nkey anna.nk --inbox anna --token-file token
  exec-server fleet ls
  exec-server fleet ls prod --label zone=eu
  exec-server -H prod/web-1 run -- uptime
  exec-server fleet drain prod/web-1 --timeout 10m
  exec-server fleet drain prod --on zone=eu && exec-server fleet uncordon prod --on zone=eu
`;

const DRAIN_STATUS = `
The status is the highest of all executors: 0 if nothing runs on it, 1 if it cannot be reached, is being stopped, leaves,
or gets new work again before that, 124 if something still runs there after --timeout. All stay cordoned in any case.
`;

/** Adds `fleet` and its subcommands. */
export function define(program: Command): void {
  const fleet = program
    .command("fleet")
    .summary("name, list and drain machines reached over NATS")
    .description(
      "Name fleets, list their machines, which are reached over NATS, and control which ones get new work.",
    )
    .usage("COMMAND")
    .addHelpText("after", EXAMPLES);
  const add = fleet
    .command("add")
    .description("Add a fleet to hosts.toml: how to reach NATS, and the token for the executors.")
    .argument("<name>", "letters, digits, '-' and '_'")
    .argument("<server...>", "NATS servers: nats://HOST:PORT or tls://HOST:PORT")
    .option("--nkey <PATH>", "file with the seed of an nkey, to log in to NATS")
    .option("--credentials <PATH>", "credentials file of NATS, to log in instead")
    .option("--user <NAME>", "user name, to log in instead, with --password-file")
    .option("--password-file <PATH>", "file with the password; the password is copied")
    .option("--inbox <NAME>", "the inbox to which NATS restricts you")
    .option("--token-file <PATH>", "file with the token for the executors; the token is copied")
    .option("--ca <PATH>", "CA certificates to trust with tls:// (paths are stored, not the contents)")
    .option("--cert <PATH>", "client certificate for tls://, with --key")
    .option("--key <PATH>", "private key of --cert")
    .option("--replace", "replace a fleet of the same name")
    .action((name: string, servers: string[]) => addFleet(name, servers, add.opts<AddFleetOptions>()));
  fleet
    .command("remove")
    .alias("rm")
    .description("Remove a fleet from hosts.toml. The rest of the file, and its comments, stay.")
    .argument("<name>")
    .action(removeFleet);
  const list = fleet
    .command("ls")
    .alias("list")
    .description("List the executors of a fleet, or of all fleets.")
    .argument("[fleet]")
    .option("--label <KEY=VALUE>", "only those with this label (repeatable)", parseLabels)
    .option("--json", "print one JSON document");
  setAction(list, listFleets);
  const watch = fleet
    .command("watch")
    .description("Print the executors of a fleet, then every join, change and departure, until Ctrl-C.")
    .argument("[fleet]")
    .option("--json", "print one line of JSON for each");
  setAction(watch, watchFleet);
  const cordoning = ofExecutors(
    fleet.command("cordon"),
    "Stop giving executors new work, until 'uncordon' or until their server ends. They stay reachable.",
  );
  setAction(cordoning, cordon);
  setAction(ofExecutors(fleet.command("uncordon"), "Give executors new work again."), uncordon);
  const draining = ofExecutors(
    fleet.command("drain"),
    "Stop giving executors new work, and wait until nothing runs there.",
  )
    .option("--timeout <DURATION>", "wait no longer than this: 30s, 10m", parseDurationArgument)
    .addHelpText("after", DRAIN_STATUS);
  setAction(draining, drain);
}

/** Adds what says which executors a command is about. */
function ofExecutors(command: Command, description: string): Command {
  return withOn(
    command.description(description).argument("[fleet/name...]"),
    "all executors of the fleet with these labels: K=V[,K=V], or all",
  ).option("--token-file <PATH>", "file with the token of the executors");
}
