import { type Command, InvalidArgumentError, Option } from "commander";
import { endWith } from "../outcome/end-with.ts";
import { Failure, isWriteError } from "../outcome/failure.ts";
import { attachByName, connectNamed } from "../kept/attach.ts";
import { EventTimes } from "../kept/event-times.ts";
import { jsonPrinter, plainPrinter, timedPrinter } from "../kept/log-printer.ts";
import { type LogSelection, printLog } from "../kept/print-log.ts";
import { writeFailure } from "../print/output.ts";
import { type TargetOptions, withTarget } from "../target/target-options.ts";

interface LogOptions extends TargetOptions, Partial<LogSelection> {
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
    .option("-f, --follow", "also print what comes, until the process ends")
    .addOption(
      new Option("--head <LINES>", "only the first lines")
        .argParser(parseCount)
        .conflicts(["tail", "follow"]),
    )
    .option("-n, --tail <LINES>", "only the last lines", parseCount)
    .option("--since-seq <NUMBER>", "only events from this number on", parseCount)
    .option("-t, --timestamps", "when the server got each line, at its beginning")
    .option("--json", "print one line of JSON for each event")
    .addHelpText("after", EXAMPLES);
  withTarget(command).action(async (name: string) => {
    await logs(name, command.optsWithGlobals<LogOptions>());
    await endWith(0);
  });
}

async function logs(name: string, options: LogOptions): Promise<void> {
  await using host = await connectNamed([name], options);
  const process = await attachByName(host, name, { fromSeq: Math.max(1, options.sinceSeq ?? 1) });
  if (options.timestamps === true && !host.supports("process/times"))
    throw new Failure("this server does not know when output came; leave --timestamps out");
  const times = options.timestamps === true ? new EventTimes(host, process.id) : undefined;
  const plain = times === undefined ? plainPrinter : () => timedPrinter(times);
  const printer = options.json === true ? jsonPrinter(times) : plain();
  try {
    await printLog(process, { follow: false, ...options }, printer);
  } catch (error) {
    throw isWriteError(error) ? writeFailure(error, "stdout") : error;
  }
}

function parseCount(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError("Expected a whole number.");
  return Number(text);
}
