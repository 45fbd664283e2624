import { type Executor, hasLabels } from "../../../client/host/executor.ts";
import { asFailure } from "../../shared/failure.ts";
import { printJson } from "../../shared/standard-streams.ts";
import { formatDuration } from "../../../base/amounts.ts";
import { type Colors, stdoutColors } from "../print/colors.ts";
import { complain } from "../print/complain.ts";
import { printTable } from "../print/table.ts";
import { allFleets, findFleet } from "../target/hosts/find-fleet.ts";
import type { NamedFleet } from "../target/target.ts";
import type { TargetOptions } from "../target/target-options.ts";
import { openNamedFleet } from "./open-named-fleet.ts";
import { type Labels, showLabels } from "./parse-labels.ts";

interface ListOptions extends Pick<TargetOptions, "debug" | "host" | "tokenFile"> {
  readonly label?: Labels;
  readonly json?: boolean;
}

/** An executor and the fleet it is in. */
interface Member {
  readonly fleet: string;
  readonly executor: Executor;
}

/** Prints the executors of a fleet, or of all of them. Resolves with the exit status. */
export async function listFleets(typed: string | undefined, options: ListOptions): Promise<number> {
  const name = typed ?? options.host;
  const fleets = name === undefined ? allFleets() : [findFleet(name)];
  const answers = await Promise.all(fleets.map((fleet) => membersOf(fleet, options)));
  const members = answers.flatMap((answer) => answer ?? []);
  if (options.json === true) await printJson(members.map(asJson));
  else if (members.length > 0) await printMembers(members);
  else if (!answers.includes(undefined)) complain(emptyReason(fleets, options));
  return answers.includes(undefined) ? 1 : 0;
}

/** Undefined if the fleet cannot be listed, which has been printed: others still can. */
async function membersOf(named: NamedFleet, options: ListOptions): Promise<Member[] | undefined> {
  try {
    await using fleet = await openNamedFleet(named, options);
    return fleet
      .list()
      .filter((executor) => hasLabels(executor, options.label ?? {}))
      .map((executor) => ({ fleet: named.name, executor }));
  } catch (error) {
    const failure = asFailure(error, 1);
    if (failure === undefined || failure.exitCode !== 1) throw error;
    complain(failure.message);
    return undefined;
  }
}

function emptyReason(fleets: readonly NamedFleet[], { label }: ListOptions): string {
  const names = fleets.map(({ name }) => `'${name}'`).join(" and ");
  const where = fleets.length === 1 ? `the fleet ${names}` : `the fleets ${names}`;
  if (label !== undefined)
    return `no executor with ${showLabels(label)} is connected to ${where}; without --label, all are listed`;
  return `no executor is connected to ${where}; one joins with 'exec-server serve --fleet FILE --id NAME'`;
}

/** Names the executors as other commands do. */
export function asJson({ fleet, executor: { id, version, since, ...rest } }: Member): object {
  return { name: `${fleet}/${id}`, version: version ?? null, ...rest, since: new Date(since).toISOString() };
}

async function printMembers(members: readonly Member[]): Promise<void> {
  const colors = stdoutColors();
  const now = Date.now();
  await printTable(members, [
    { title: "NAME", value: ({ fleet, executor }) => `${fleet}/${executor.id}` },
    {
      title: "STATE",
      value: ({ executor }) => executor.state,
      style: (text, { executor }) => stateStyle(executor.state, colors)(text),
    },
    { title: "RUNNING", align: "right", value: ({ executor }) => String(executor.running) },
    { title: "FREE", align: "right", value: ({ executor }) => String(executor.free) },
    { title: "LOAD", align: "right", value: ({ executor }) => executor.load.toFixed(2) },
    { title: "VERSION", value: ({ executor }) => executor.version ?? "-" },
    { title: "AGE", align: "right", value: ({ executor }) => formatDuration(now - executor.since) },
    { title: "LABELS", value: ({ executor }) => showLabels(executor.labels) },
  ]);
}

export function stateStyle(state: Executor["state"], colors: Colors): (text: string) => string {
  return state === "ready" ? colors.green : colors.yellow;
}
