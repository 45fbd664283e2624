import type { Command } from "commander";
import type { ListedProcess } from "../../../protocol/process-extensions.ts";
import { setAction } from "../outcome/end-with.ts";
import { nameOf, namesOf, ownerText } from "../kept/kept-name.ts";
import { complain } from "../print/complain.ts";
import { print, printJson } from "../../shared/standard-streams.ts";
import { printable, shellWord } from "../print/printable.ts";
import { printTable } from "../print/table.ts";
import { formatDuration } from "../../../base/amounts.ts";
import { stdoutColors } from "../print/colors.ts";
import { findKept } from "../target/connect-target.ts";
import { type TargetOptions, withTarget } from "../target/target-options.ts";

interface ListOptions extends TargetOptions {
  readonly quiet?: boolean;
  readonly json?: boolean;
}

const EXAMPLES = `
A kept process is one that 'exec-server run -d' has started: it outlives your terminal. One that has ended stays
listed for a day, with its output and its status. If you may see those of others, their owners are
shown, too; OWNER/NAME names one of theirs.

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
  setAction(withTarget(command), list);
}

async function list(options: ListOptions): Promise<void> {
  await using host = await findKept(options);
  const processes = (await host?.processes({ scope: "kept" })) ?? [];
  processes.sort((one, other) => one.startedAtMs - other.startedAtMs);
  if (options.json === true) await printJson(processes);
  else if (options.quiet === true) {
    const lines = namesOf(processes).map((name) => `${printable(name)}\n`);
    await print(lines.join(""));
  } else if (processes.length === 0)
    complain("no kept processes; start one with 'exec-server run -d --name NAME -- COMMAND'");
  else await printKept(processes);
}

/** Prints kept processes for people. */
function printKept(processes: readonly ListedProcess[]): Promise<void> {
  const now = Date.now();
  // Usually all of them are the user's own.
  const hasSeveralOwners = new Set(processes.map(({ owner }) => owner)).size > 1;
  return printTable<ListedProcess>(processes, [
    { title: "NAME", value: nameOf },
    ...(hasSeveralOwners ? [{ title: "OWNER", value: ownerText }] : []),
    { title: "STATUS", value: (one) => statusText(one, now), style: painted },
    { title: "AGE", value: ({ startedAtMs }) => formatDuration(now - startedAtMs) },
    { title: "ATTACHED", value: ({ attached }) => String(attached ?? "?"), align: "right" },
    // In the form in which it could be typed in a shell.
    { title: "COMMAND", value: ({ argv }) => argv.map(shellWord).join(" ") },
  ]);
}

/** `running`, or how it ended, by itself or by a signal, and how long ago. */
function statusText({ state, exitCode, signal, endedAtMs }: ListedProcess, now: number): string {
  if (state === "running") return state;
  const ago = endedAtMs === undefined ? "" : `, ${formatDuration(now - endedAtMs)} ago`;
  return `${signal === undefined ? `exited ${exitCode ?? "?"}` : signal}${ago}`;
}

function painted(text: string, { state, exitCode }: ListedProcess): string {
  const { green, dim, red } = stdoutColors();
  if (state === "running") return green(text);
  return exitCode === 0 ? dim(text) : red(text);
}
