import { type Command, InvalidArgumentError, Option } from "commander";
import type { JsonValue } from "../../../rows/engine/row.ts";
import type { JobOptions } from "../../../rows/job/file-job.ts";
import type { RowsFleetOptions } from "../../../rows/machines/rows-fleet.ts";
import { type OnOptions, withOn } from "../fleet/chosen-machines.ts";
import { defined } from "../../shared/defined.ts";
import { usageFailure } from "../../shared/failure.ts";
import { parseCount, parseDurationArgument, parseNumber, readNamedFile } from "../arguments.ts";

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
  readonly force?: boolean;
  readonly dryRun?: boolean;
  readonly quiet?: boolean;
  readonly json?: boolean;
}

/** Adds the options that say where rows come from and where results go. */
export function withJob(command: Command): Command {
  return withOn(command)
    .option(
      "--lost-after <DURATION>",
      "with --on, how long a machine may be unreachable [default: 50s]",
      parseDurationArgument,
    )
    .option(
      "-o, --output <FILE>",
      "the results: CSV, or JSON Lines for *.jsonl; - prints them [default: FILE.results.csv]",
    )
    .option("--ledger <FILE>", "file that records the progress, for --resume [default: OUTPUT.ledger]")
    .option("--id-column <NAME>", "the column with a unique id for each row [default: row-1, row-2, …]")
    .addOption(
      new Option("--format <FORMAT>", "format of FILE [default: from its name]").choices(["csv", "jsonl"]),
    )
    .option("--delimiter <CHARACTER>", "cell separator of a CSV file [default: detected]", parseDelimiter)
    .option(
      "-j, --max-concurrency <N>",
      "how many rows to run at once [default: 16; map --on: all free slots]",
      parseCount,
    )
    .option("--timeout <DURATION>", "time for each attempt at a row: 10s, 5m", parseDurationArgument)
    .option("--total-timeout <DURATION>", "time for all rows", parseDurationArgument)
    .option("--retries <N>", "how often to retry a failed row, with growing pauses [default: 0]", parseNumber)
    .option("--max-failures <N>", "start no more rows after this many have failed", parseCount)
    .option("--limit <N>", "start at most this many rows", parseCount)
    .option("--resume", "continue a job that was interrupted")
    .option("--only-failed", "run the rows of a job again that failed")
    .option(
      "--no-rerun",
      "with --resume or --on, do not rerun rows whose outcome is unknown: count them as lost",
    )
    .option("--force", "replace the results and the ledger of an earlier job")
    .option("-n, --dry-run", "check everything and show what would run, without running it")
    .option("-q, --quiet", "show no progress and no summary")
    .option("--json", "print the summary as JSON");
}

/** Options for running the rows. */
export function jobOptions(flags: JobFlags): JobOptions {
  const { maxConcurrency, timeout, totalTimeout, retries, maxFailures, limit, onlyFailed, rerun } = flags;
  if (!rerun && flags.resume !== true && flags.on === undefined)
    throw usageFailure("--no-rerun is for a job that is resumed, or runs on a fleet; add --resume or --on");
  if (flags.lostAfter !== undefined && flags.on === undefined)
    throw usageFailure("--lost-after is for the machines of a fleet; add --on");
  return defined({
    rerun,
    only: onlyFailed === true ? "failed" : "unfinished",
    maxConcurrency,
    timeoutMs: timeout,
    totalTimeoutMs: totalTimeout,
    retries,
    maxFailures,
    limit,
  });
}

/** Selection of a fleet's machines. */
export function fleetOptions({ on, lostAfter }: JobFlags): Omit<RowsFleetOptions, "fleet"> {
  return defined({ on, lostAfterMs: lostAfter });
}

function parseDelimiter(text: string): string {
  const character = text === "\\t" || text === "tab" ? "\t" : text;
  if (character.length !== 1 || /["\r\n]/.test(character))
    throw new InvalidArgumentError("Expected one character, or tab.");
  return character;
}

/** The JSON schema in a file; undefined without one. */
export function readSchema(path: string | undefined): JsonValue | undefined {
  if (path === undefined) return undefined;
  const text = readNamedFile(path, "schema");
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    throw usageFailure(`the schema ${path} is not JSON`);
  }
}
