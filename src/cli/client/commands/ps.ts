import type { Command } from "commander";
import { endWith } from "../outcome/end-with.ts";
import { namesOf } from "../kept/kept-name.ts";
import { keptTable } from "../kept/kept-table.ts";
import { complain } from "../print/complain.ts";
import { print, printJson, stdoutColors, terminalWidth } from "../print/output.ts";
import { printable } from "../print/printable.ts";
import { findKept } from "../target/connect-target.ts";
import { type TargetOptions, withTarget } from "../target/target-options.ts";

interface ListOptions extends TargetOptions {
  readonly quiet?: boolean;
  readonly json?: boolean;
}

const EXAMPLES = `
A kept process is one that 'exec-server run -d' has started: it lives on without its terminal. One that has ended is
listed for another day, so that its output and its status can be read. If you may see those of others, their owners are
shown too; OWNER/NAME means one of theirs.

Status: 0, or 1 if the processes could not be listed.

Examples:
  exec-server ps
  exec-server ps --json | jq -r '.[] | select(.exitCode > 0).name'
  exec-server kill $(exec-server ps -q)
`;

/** Adds `ps`. */
export function define(program: Command): void {
  const command = program
    .command("ps")
    .summary("list kept processes, running and ended")
    .description("List the kept processes that you can see, running and ended.")
    .usage("[OPTIONS]")
    .option("-q, --quiet", "print names only")
    .option("--json", "print one JSON document")
    .addHelpText("after", EXAMPLES);
  withTarget(command).action(async () => {
    await list(command.optsWithGlobals<ListOptions>());
    await endWith(0);
  });
}

async function list(options: ListOptions): Promise<void> {
  await using host = await findKept(options);
  const processes = (await host?.processes({ scope: "kept" })) ?? [];
  processes.sort((one, other) => one.startedAtMs - other.startedAtMs);
  if (options.json === true) await printJson(processes);
  else if (options.quiet === true)
    await print(
      namesOf(processes)
        .map((name) => `${printable(name)}\n`)
        .join(""),
    );
  else if (processes.length === 0)
    complain("no kept processes; start one with 'exec-server run -d --name NAME -- COMMAND'");
  else await print(keptTable(processes, { now: Date.now(), width: terminalWidth(), colors: stdoutColors() }));
}
