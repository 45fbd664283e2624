import { type Command, Option } from "commander";
import type { RemoteProcess } from "../../../client/process/remote-process.ts";
import { errorOf } from "../../../client/routes/process-events.ts";
import { parseNumber } from "../arguments.ts";
import { setAction } from "../outcome/end-with.ts";
import { Failure, isWriteError } from "../../shared/failure.ts";
import { attachByName, connectNamed } from "../kept/attach.ts";
import { EventTimes, jsonPrinter, plainPrinter, timedPrinter, type LogPrinter } from "../kept/log-printer.ts";
import { FirstLines, LastLines } from "../kept/log-selection.ts";
import { writeFailure } from "../../shared/standard-streams.ts";
import { type TargetOptions, withTarget } from "../target/target-options.ts";

interface LogOptions extends TargetOptions {
  readonly follow?: boolean;
  /** Numbers of lines. */
  readonly head?: number;
  readonly tail?: number;
  readonly sinceSeq?: number;
  readonly timestamps?: boolean;
  readonly json?: boolean;
}

const EXAMPLES = `
What the process wrote to stderr goes to stderr. The server retains the latest output, by default 1 MiB for each
process; a line on stderr says when the beginning is no longer there. With --json, each event is one line with its
number, for --since-seq.

Status: 0, or 1 if there is no such process.

Examples:
  exec-server logs web
  exec-server logs -f --tail 20 web
  exec-server logs --timestamps web
  exec-server logs web 2> errors.txt > output.txt
  exec-server logs --json --since-seq 100 web
`;

/** Adds `logs`. */
export function define(program: Command): void {
  const command = program
    .command("logs")
    .summary("print the output of a kept process")
    .description("Print the output of a kept process, running or ended.")
    .usage("[OPTIONS] NAME")
    .argument("<name>", "kept process; OWNER/NAME for someone else's")
    .option("-f, --follow", "keep printing new output until the process ends")
    .addOption(
      new Option("--head <LINES>", "only the first lines")
        .argParser(parseNumber)
        .conflicts(["tail", "follow"]),
    )
    .option("-n, --tail <LINES>", "only the last lines", parseNumber)
    .option("--since-seq <NUMBER>", "only events from this number onward", parseNumber)
    .option("-t, --timestamps", "begin each line with the time the server received it")
    .option("--json", "print one line of JSON for each event")
    .addHelpText("after", EXAMPLES);
  setAction(withTarget(command), logs);
}

async function logs(name: string, options: LogOptions): Promise<void> {
  await using host = await connectNamed([name], options);
  const process = await attachByName(host, name, { fromSeq: Math.max(1, options.sinceSeq ?? 1) });
  if (options.timestamps === true && !host.supports("process/times"))
    throw new Failure("this server does not record when output arrived; leave --timestamps out");
  const times = options.timestamps === true ? new EventTimes(host, process.id) : undefined;
  const plain = times === undefined ? plainPrinter : () => timedPrinter(times);
  const printer = options.json === true ? jsonPrinter(times) : plain();
  try {
    await printLog(process, options, printer);
  } catch (error) {
    throw isWriteError(error) ? writeFailure(error, "stdout") : error;
  }
}

/** Prints a process's retained output; with `follow`, also new output, until the process has closed. */
async function printLog(
  process: RemoteProcess,
  { follow = false, head, tail }: LogOptions,
  printer: LogPrinter,
): Promise<void> {
  // Events so far; without `follow` nothing later is printed.
  const last = process.wake;
  if (last === 0 && !follow) return;
  const first = head === undefined ? undefined : new FirstLines(head);
  let held = tail === undefined ? undefined : new LastLines(tail);
  const release = async (): Promise<void> => {
    for (const piece of held?.pieces ?? []) await printer.output(piece);
    held = undefined;
  };
  for await (const event of process.events()) {
    if (event.kind === "failed") throw errorOf(event);
    if (event.kind === "gap" && event.fromSeq === 1 && first !== undefined) {
      await printBeginning(process, first, printer);
      break;
    }
    // For the end of the output, the beginning does not matter.
    if (event.kind === "gap" && held !== undefined) continue;
    if (event.kind !== "output") await printer.event(event);
    else if (first !== undefined) await printer.output(first.take(event));
    else if (held !== undefined) held.add(event);
    else await printer.output(event);
    if (event.seq >= last) await release();
    if (first?.isDone === true || event.kind === "closed" || (!follow && event.seq >= last)) break;
  }
  await release();
}

/** The server keeps the beginning of each stream when it gives up events. Which came first is not known any more. */
async function printBeginning(process: RemoteProcess, first: FirstLines, printer: LogPrinter): Promise<void> {
  const { streams } = await process.snapshot();
  for (const { stream, head } of streams) await printer.output(first.take({ seq: 1, stream, bytes: head }));
}
