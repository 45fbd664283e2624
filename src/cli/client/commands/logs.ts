import { type Command, Option } from "commander";
import type { Host } from "../../../client/host/host.ts";
import type { RemoteProcess } from "../../../client/process/remote-process.ts";
import { errorOf } from "../../../client/routes/process-events.ts";
import { parseDurationArgument, parseNumber } from "../arguments.ts";
import { setAction } from "../outcome/end-with.ts";
import { Failure, isWriteError } from "../../shared/failure.ts";
import { attachByName, connectNamed } from "../kept/attach.ts";
import { EventTimes, jsonPrinter, plainPrinter, timedPrinter, type LogPrinter } from "../kept/log-printer.ts";
import { FirstLines, LastLines, type LogPiece } from "../kept/log-selection.ts";
import { MatchingLines } from "../kept/matching-lines.ts";
import { writeFailure } from "../../shared/standard-streams.ts";
import { type TargetOptions, withTarget } from "../target/target-options.ts";

interface LogOptions extends TargetOptions {
  readonly follow?: boolean;
  /** Numbers of lines. */
  readonly head?: number;
  readonly tail?: number;
  readonly sinceSeq?: number;
  /** In milliseconds. */
  readonly since?: number;
  readonly grep?: string;
  readonly timestamps?: boolean;
  readonly json?: boolean;
}

const EXAMPLES = `
What the process wrote to stderr goes to stderr. The server retains the latest output, by default 1 MiB for each
process, and 128 MiB on the disk of a durable server; a line on stderr says where output is no longer there. With
--json, each event is one line with its number, for --since-seq. --grep takes a regular expression of JavaScript.

Status: 0, or 1 if there is no such process.

Examples:
  exec-server logs web
  exec-server logs -f --tail 20 web
  exec-server logs --timestamps web
  exec-server logs --since 10m --grep 'error|warning' web
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
    .addOption(
      new Option("--since <DURATION>", "only output that came in this time")
        .argParser(parseDurationArgument)
        .conflicts("sinceSeq"),
    )
    .option("--grep <PATTERN>", "only lines that match; --head and --tail count these")
    .option("-t, --timestamps", "begin each line with the time the server received it")
    .option("--json", "print one line of JSON for each event")
    .addHelpText("after", EXAMPLES);
  setAction(withTarget(command), logs);
}

async function logs(name: string, options: LogOptions): Promise<void> {
  const { sinceSeq = 1, since, tail, timestamps, json, grep } = options;
  const pattern = grep === undefined ? undefined : new MatchingLines(grep);
  await using host = await connectNamed([name], options);
  if (timestamps === true && !host.supports("process/times"))
    throw new Failure("this server does not record when output arrived; leave --timestamps out");
  let fromSeq = Math.max(1, sinceSeq);
  if (since !== undefined) fromSeq = await firstSince(host, name, since);
  else if (tail !== undefined && pattern === undefined)
    fromSeq = await firstForTail(host, name, fromSeq, tail);
  const process = await attachByName(host, name, { fromSeq });
  const times = timestamps === true ? new EventTimes(host, process.id) : undefined;
  const plain = times === undefined ? plainPrinter : () => timedPrinter(times);
  const printer = json === true ? jsonPrinter(times) : plain();
  try {
    await printLog(process, { ...options, pattern }, printer);
  } catch (error) {
    throw isWriteError(error) ? writeFailure(error, "stdout") : error;
  }
}

/** Number of the first event after the last one that is older. */
async function firstSince(host: Host, name: string, ageMs: number): Promise<number> {
  if (!host.supports("process/times.ageMs"))
    throw new Failure("this server cannot find output by its time; leave --since out, or use --since-seq");
  // Its output is not needed yet.
  const process = await attachByName(host, name, { fromSeq: Number.MAX_SAFE_INTEGER });
  const { firstSeq } = await host.request("process/times", {
    processId: process.id,
    ageMs: Math.round(ageMs),
  });
  await process.detach();
  return firstSeq;
}

/** Number of an event, not before `fromSeq`, after which there are enough lines: what memory has comes faster. */
async function firstForTail(host: Host, name: string, fromSeq: number, lines: number): Promise<number> {
  if (!host.supports("process/read.spooled")) return fromSeq;
  const process = await attachByName(host, name, {});
  try {
    const last = process.wake;
    const held = new LastLines(lines);
    let start: number | undefined;
    if (last > 0)
      for await (const event of process.events()) {
        if (event.kind === "failed") break;
        start ??= event.seq;
        if (event.kind === "output") held.add(event);
        if (held.isFull) return Math.max(fromSeq, start);
        if (event.seq >= last) break;
      }
    return fromSeq;
  } finally {
    await process.detach();
  }
}

/** Prints a process's retained output; with `follow`, also new output, until the process has closed. */
async function printLog(
  process: RemoteProcess,
  { follow = false, head, tail, pattern }: LogOptions & { readonly pattern: MatchingLines | undefined },
  printer: LogPrinter,
): Promise<void> {
  // Events so far; without `follow` nothing later is printed.
  const last = process.wake;
  if (last === 0 && !follow) return;
  const first = head === undefined ? undefined : new FirstLines(head);
  let held = tail === undefined ? undefined : new LastLines(tail);
  const take = async (pieces: readonly LogPiece[]): Promise<void> => {
    for (const piece of pieces)
      if (first !== undefined) await printer.output(first.take(piece));
      else if (held !== undefined) held.add(piece);
      else await printer.output(piece);
  };
  const release = async (): Promise<void> => {
    const { pieces = [] } = held ?? {};
    held = undefined;
    await take(pieces);
  };
  for await (const event of process.events()) {
    if (event.kind === "failed") throw errorOf(event);
    if (event.kind === "gap" && event.fromSeq === 1 && first !== undefined && pattern === undefined) {
      await printBeginning(process, first, printer);
      return;
    }
    if (event.kind === "output") await take(pattern?.take(event) ?? [event]);
    // For the end of the output, the beginning does not matter.
    else if (event.kind !== "gap" || held === undefined) await printer.event(event);
    if (first?.isDone === true || event.kind === "closed" || (!follow && event.seq >= last)) break;
    if (event.seq >= last) await release();
  }
  await take(pattern?.rest() ?? []);
  await release();
}

/** The server keeps the beginning of each stream when it gives up events. Which came first is not known any more. */
async function printBeginning(process: RemoteProcess, first: FirstLines, printer: LogPrinter): Promise<void> {
  const { streams } = await process.snapshot();
  for (const { stream, head } of streams) await printer.output(first.take({ seq: 1, stream, bytes: head }));
}
