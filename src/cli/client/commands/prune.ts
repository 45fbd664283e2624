import type { Command } from "commander";
import { parseDurationArgument } from "../arguments.ts";
import { eachName } from "../kept/each-name.ts";
import { forget } from "../kept/forget.ts";
import { nameOf } from "../kept/kept-name.ts";
import { setAction } from "../outcome/end-with.ts";
import { complain } from "../print/complain.ts";
import { findKept } from "../target/connect-target.ts";
import { type TargetOptions, withTarget } from "../target/target-options.ts";

interface PruneOptions extends TargetOptions {
  readonly olderThan: number;
}

const EXAMPLES = `
The names of what was removed are printed. Processes of others stay, and so does one whose output a program that
it started still holds open.

Status: 0, or 1 if a process could not be removed.

Examples:
  exec-server prune
  exec-server prune --older-than 1h
`;

/** Adds `prune`. */
export function define(program: Command): void {
  const command = program
    .command("prune")
    .summary("remove all kept processes that have ended")
    .description("Remove all of your kept processes that have ended, with their output.")
    .usage("[OPTIONS]")
    .option("--older-than <DURATION>", "only those that ended longer ago: 10m, 1h", parseDurationArgument, 0)
    .addHelpText("after", EXAMPLES);
  setAction(withTarget(command), prune);
}

async function prune({ olderThan, ...target }: PruneOptions): Promise<number> {
  await using host = await findKept(target);
  if (host === undefined) return nothing();
  const { rights } = await host.request("server/status", null);
  const listed = await host.processes({ scope: "kept" });
  const endedBefore = Date.now() - olderThan;
  const over = listed.filter(
    ({ state, owner, endedAtMs = 0 }) =>
      state === "closed" && endedAtMs <= endedBefore && (owner === undefined || owner === rights?.principal),
  );
  if (over.length === 0) return nothing();
  return await eachName(over.map(nameOf), async (name) => {
    await forget(host, name);
    return name;
  });
}

function nothing(): number {
  complain("nothing to remove");
  return 0;
}
