import { type Command, InvalidArgumentError, Option } from "commander";
import { basename, dirname, join } from "node:path";
import type { JobFiles, JobOptions } from "../../../rows/job/file-job.ts";
import type { RowsFleetOptions } from "../../../rows/machines/rows-fleet.ts";
import { type OnOptions, withOn } from "../fleet/chosen-machines.ts";
import { usageFailure } from "../outcome/failure.ts";
import { parseDurationArgument } from "../arguments.ts";

/** Options of every command that works on rows. */
export interface JobFlags extends OnOptions {
  readonly output?: string;
  readonly ledger?: string;
  readonly format?: "csv" | "jsonl";
  readonly delimiter?: string;
  readonly idColumn?: string;
  readonly maxConcurrency?: number;
  readonly timeout?: number;
  readonly totalTimeout?: number;
  readonly retries?: number;
  readonly maxFailures?: number;
  readonly limit?: number;
  readonly resume?: boolean;
  readonly onlyFailed?: boolean;
  readonly rerun: boolean;
  readonly lostAfter?: number;
  readonly dryRun?: boolean;
  readonly quiet?: boolean;
  readonly json?: boolean;
}

/** Adds the options that say where rows come from and where results go. */
export function withJob(command: Command): Command {
  return withOn(command)
    .option(
      "--lost-after <DURATION>",
      "with --on, how long a machine may be out of sight [default: 50s]",
      parseDurationArgument,
    )
    .option("-o, --output <FILE>", "the results: CSV, or JSON lines for *.jsonl [default: FILE.results.csv]")
    .option("--ledger <FILE>", "what is recorded about each row, to resume [default: OUTPUT.ledger]")
    .option("--id-column <NAME>", "the column with a name for each row [default: row-1, row-2, …]")
    .addOption(
      new Option("--format <FORMAT>", "format of FILE [default: by its name]").choices(["csv", "jsonl"]),
    )
    .option("--delimiter <CHARACTER>", "between the cells of a CSV file [default: found out]", parseDelimiter)
    .option(
      "-j, --max-concurrency <N>",
      "how many rows run at once [default: 16; map --on: all free slots]",
      parseCount,
    )
    .option("--timeout <DURATION>", "time for each attempt at a row: 10s, 5m", parseDurationArgument)
    .option("--total-timeout <DURATION>", "time for all rows", parseDurationArgument)
    .option(
      "--retries <N>",
      "further attempts at a row that failed, later each time [default: 0]",
      parseNumber,
    )
    .option("--max-failures <N>", "begin nothing more after so many failed rows", parseCount)
    .option("--limit <N>", "begin so many rows at most", parseCount)
    .option("--resume", "continue a job that was interrupted")
    .option("--only-failed", "run the rows of a job again that failed")
    .option(
      "--no-rerun",
      "with --resume or --on, do not run rows again whose end is not known: they are lost",
    )
    .option("-n, --dry-run", "check everything, start nothing, and show what would be started")
    .option("-q, --quiet", "show no progress and no summary")
    .option("--json", "print the summary as JSON");
}

/** Where rows come from, and where results go. */
export function jobFiles(input: string, flags: JobFlags): JobFiles {
  const { ledger, format, delimiter, idColumn, resume = false, onlyFailed = false } = flags;
  return {
    input,
    output: flags.output ?? defaultOutput(input),
    resume: resume || onlyFailed,
    ...(ledger === undefined ? {} : { ledger }),
    ...(format === undefined ? {} : { format }),
    ...(delimiter === undefined ? {} : { delimiter }),
    ...(idColumn === undefined ? {} : { idColumn }),
  };
}

/** How the rows are run. */
export function jobOptions(flags: JobFlags): JobOptions {
  const { maxConcurrency, timeout, totalTimeout, retries, maxFailures, limit, onlyFailed, rerun } = flags;
  if (!rerun && flags.resume !== true && flags.on === undefined)
    throw usageFailure("--no-rerun is for a job that is resumed, or runs on a fleet; add --resume or --on");
  if (flags.lostAfter !== undefined && flags.on === undefined)
    throw usageFailure("--lost-after is for the machines of a fleet; add --on");
  return {
    rerun,
    only: onlyFailed === true ? "failed" : "unfinished",
    ...(maxConcurrency === undefined ? {} : { maxConcurrency }),
    ...(timeout === undefined ? {} : { timeoutMs: timeout }),
    ...(totalTimeout === undefined ? {} : { totalTimeoutMs: totalTimeout }),
    ...(retries === undefined ? {} : { retries }),
    ...(maxFailures === undefined ? {} : { maxFailures }),
    ...(limit === undefined ? {} : { limit }),
  };
}

/** Which machines of a fleet are used. */
export function fleetOptions({ on, lostAfter }: JobFlags): Omit<RowsFleetOptions, "fleet"> {
  return {
    ...(on === undefined ? {} : { on }),
    ...(lostAfter === undefined ? {} : { lostAfterMs: lostAfter }),
  };
}

function defaultOutput(input: string): string {
  const name = basename(input).replace(/\.(?:csv|tsv|txt|jsonl|ndjson|json)$/i, "");
  return join(dirname(input), `${name}.results.csv`);
}

function parseDelimiter(text: string): string {
  const character = text === "\\t" || text === "tab" ? "\t" : text;
  if (character.length !== 1 || /["\r\n]/.test(character))
    throw new InvalidArgumentError("Expected one character, or tab.");
  return character;
}

function parseNumber(text: string): number {
  const count = Number(text);
  if (text.trim() === "" || !Number.isSafeInteger(count) || count < 0)
    throw new InvalidArgumentError("Expected a whole number.");
  return count;
}

export function parseCount(text: string): number {
  const count = parseNumber(text);
  if (count === 0) throw new InvalidArgumentError("Expected a whole number from 1 on.");
  return count;
}
