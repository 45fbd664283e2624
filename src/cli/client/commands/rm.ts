import type { Command } from "commander";
import { connectNamed } from "../kept/attach.ts";
import { eachName } from "../kept/each-name.ts";
import { forget } from "../kept/forget.ts";
import { setAction } from "../outcome/end-with.ts";
import { type TargetOptions, withTarget } from "../target/target-options.ts";

interface RemoveOptions extends TargetOptions {
  readonly force?: boolean;
}

const EXAMPLES = `
The output and the status of a removed process are gone, and its name is free. Without 'rm', a process that has
ended stays for a day.

Status: 0, or 1 if a process does not exist, or has not ended.

Examples:
  exec-server rm build
  exec-server rm --force web worker
`;

/** Adds `rm`. */
export function define(program: Command): void {
  const command = program
    .command("rm")
    .summary("remove kept processes that have ended")
    .description("Remove kept processes that have ended, with their output.")
    .usage("[OPTIONS] NAME...")
    .argument("<name...>", "kept processes; OWNER/NAME for someone else's")
    .option("-f, --force", "end those that run, as 'kill' does, and remove them, too")
    .addHelpText("after", EXAMPLES);
  setAction(withTarget(command), remove);
}

async function remove(
  names: readonly string[],
  { force = false, ...target }: RemoveOptions,
): Promise<number> {
  await using host = await connectNamed(names, target);
  return await eachName(names, async (name) => {
    await forget(host, name, { force });
    return name;
  });
}
