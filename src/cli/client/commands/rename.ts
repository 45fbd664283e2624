import type { Command } from "commander";
import { attachByName, connectNamed } from "../kept/attach.ts";
import { checkName } from "../kept/kept-name.ts";
import { setAction } from "../outcome/end-with.ts";
import { type TargetOptions, withTarget } from "../target/target-options.ts";

const EXAMPLES = `
Terminals and programs that are attached to the process stay attached.

Status: 0, or 1 if the process does not exist, or the new name is taken.

Examples:
  exec-server rename build-2 build
`;

/** Adds `rename`. */
export function define(program: Command): void {
  const command = program
    .command("rename")
    .summary("give a kept process another name")
    .description("Give a kept process another name.")
    .usage("[OPTIONS] NAME NEW-NAME")
    .argument("<name>", "kept process; OWNER/NAME for someone else's")
    .argument("<new-name>", "its new name")
    .addHelpText("after", EXAMPLES);
  setAction(withTarget(command), rename);
}

async function rename(typed: string, name: string, target: TargetOptions): Promise<void> {
  checkName(name);
  await using host = await connectNamed([typed], target);
  const process = await attachByName(host, typed, { mode: "control", fromSeq: Number.MAX_SAFE_INTEGER });
  await process.rename(name);
}
