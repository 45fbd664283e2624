import { existsSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { ExecError, UsageError } from "../../base/errors.ts";
import { randomId } from "../../base/random-id.ts";
import type { JsonValue } from "../engine/row.ts";
import type { RunRowsOptions } from "../engine/rows-plan.ts";
import type { RowsSummary } from "../engine/rows-progress.ts";
import { checkLimits, runRows } from "../engine/run-rows.ts";
import { type CheckRow, RowsFile, type RowsFileOptions } from "../input/rows-file.ts";
import { FileLedger } from "../ledger/file-ledger.ts";
import type { JobHeader } from "../ledger/ledger-entries.ts";
import type { OutcomeGroup } from "../output/outcome-groups.ts";
import { OutputFile } from "../output/output-file.ts";

/** Source of the rows, and destination of their results. */
export interface JobFiles extends RowsFileOptions {
  /** The file with the rows. */
  readonly input: string;
  /** The file for the results: CSV, or JSON lines if its name ends with `.jsonl`. */
  readonly output: string;
  /** Default: the output's name with `.ledger` added. */
  readonly ledger?: string;
  /** Continues a job that was interrupted. Default: false. */
  readonly resume?: boolean;
  /** Replaces the output and the ledger of an earlier job, unless that runs. Default: false. */
  readonly force?: boolean;
}

/** The engine's options that its user chooses. */
export type JobOptions = Pick<
  RunRowsOptions,
  | "maxConcurrency"
  | "retries"
  | "maxLosses"
  | "backoffMs"
  | "maxBackoffMs"
  | "timeoutMs"
  | "totalTimeoutMs"
  | "maxFailures"
  | "limit"
  | "only"
  | "rerun"
  | "signal"
  | "onProgress"
> & {
  /** Called when the input has been read once and is known to be in order, before anything begins. */
  readonly onStart?: (job: StartedJob) => void;
};

/** A job that begins. */
export interface StartedJob {
  readonly jobId: string;
  readonly rows: number;
}

/** The work for each row. */
export interface JobWork extends Pick<RunRowsOptions, "run" | "takeOver" | "places"> {
  /** What a resumed job must share with the interrupted one, by the names that messages use. */
  readonly identity: Readonly<Record<string, JsonValue>>;
  /** Adds a column of this name for results that are text. */
  readonly textColumn?: string;
  /** Looks at every row before anything begins, once the columns are known. Throws for columns that do not fit. */
  readonly check?: (columns: readonly string[]) => CheckRow;
  /** Called with the known attempts, before anything begins. */
  readonly opened?: (attempts: JobAttempts) => void;
}

/** A ledger's record of a job's attempts. */
export interface JobAttempts {
  readonly jobId: string;
  /** Every machine on which attempts were begun, in this run and in earlier ones. */
  readonly places: ReadonlySet<string>;
  /** Whether this is the row's current attempt, at that place, and its end is not recorded. */
  readonly isRunning: (attempt: {
    readonly index: number;
    readonly attempt: number;
    readonly place?: string;
  }) => boolean;
}

/** How a job over a file ended. */
export interface JobSummary extends RowsSummary {
  readonly input: string;
  readonly output: string;
  readonly ledger: string;
  /** Rows of the file. */
  readonly total: number;
  /** Every row of the file by how it ended. */
  readonly groups: readonly OutcomeGroup[];
  /**
   * False if the run was abandoned, and sorting so many results would have taken too long: the output has the ended
   * rows in the order of their ends, and there are no groups.
   */
  readonly isOrdered: boolean;
}

/**
 * Does something with each row of a file, and writes the results to another one. Everything that is wrong with the file
 * is found before the first row begins.
 */
export async function runFileJob(
  files: JobFiles,
  work: JobWork,
  options: JobOptions = {},
): Promise<JobSummary> {
  const { input: path, output, resume = false, force = false } = files;
  const { identity, check, opened, textColumn, ...attempts } = work;
  const ledgerPath = files.ledger ?? `${output}.ledger`;
  checkPlaces(files, ledgerPath);
  checkLimits(options);
  const { signal } = options;
  const input = await RowsFile.open(path, files, check, signal);
  const header: JobHeader = {
    kind: "job",
    version: 1,
    jobId: randomId(),
    input: { path, sha256: input.sha256, rows: input.count },
    work: {
      ...identity,
      format: files.format ?? null,
      delimiter: files.delimiter ?? null,
      "id column": files.idColumn ?? null,
    },
    at: new Date().toISOString(),
  };
  await using ledger = resume
    ? await FileLedger.resume(ledgerPath, header, (begun) => checkSame(begun, header))
    : await FileLedger.create(ledgerPath, header, { replace: force });
  const results = new OutputFile(output, { input, ledger, textColumn });
  try {
    await results.begin(resume, signal);
  } catch (error) {
    // Nothing has begun, so no file is needed.
    if (!resume) await rm(ledgerPath, { force: true });
    throw error;
  }
  const { onStart, ...engine } = options;
  opened?.({
    jobId: ledger.jobId,
    places: ledger.places,
    isRunning: ({ index, attempt, place }) =>
      ledger.statusOf(index) === "running" &&
      ledger.attemptsOf(index) === attempt &&
      ledger.placeOf(index) === place,
  });
  onStart?.({ jobId: ledger.jobId, rows: input.count });
  let summary: RowsSummary;
  try {
    summary = await runRows({
      ...engine,
      ...attempts,
      rows: input.rows(),
      ledger,
      onRecord: (item, record) => results.add(item, record),
    });
  } catch (error) {
    // Known results are written as far as possible; the error matters more.
    await results.finish(signal).catch(() => {});
    throw error;
  }
  const groups = await results.finish(signal);
  return {
    ...summary,
    input: path,
    output,
    ledger: ledgerPath,
    total: input.count,
    groups: groups?.list() ?? [],
    isOrdered: groups !== undefined,
  };
}

function checkPlaces({ input, output, resume, force }: JobFiles, ledger: string): void {
  if (output === "-") throw new UsageError("results are ordered at the end, so they need a file, not stdout");
  if (existsSync(output) && !statSync(output).isFile())
    throw new UsageError(`${output} is not a regular file; results need one`);
  for (const [path, what] of [
    [output, "output"],
    [ledger, "ledger"],
  ] as const)
    if (isSameFile(path, input))
      throw new UsageError(`the ${what} would replace the input ${input}; choose another --${what}`);
  if (isSameFile(output, ledger))
    throw new UsageError("the output and the ledger cannot be the same file; choose another --ledger");
  if (resume === true || force === true) return;
  const existing = [ledger, output].find((path) => existsSync(path));
  if (existing !== undefined)
    throw new UsageError(
      `${existing} exists; continue the job with --resume, replace it with --force, or choose another --output`,
    );
}

function isSameFile(one: string, other: string): boolean {
  if (resolve(one) === resolve(other)) return true;
  if (!existsSync(one) || !existsSync(other)) return false;
  const [first, second] = [statSync(one), statSync(other)];
  return first.ino === second.ino && first.dev === second.dev;
}

function checkSame(begun: JobHeader, now: JobHeader): void {
  const refuse = (what: string): never => {
    throw new ExecError(
      "USAGE",
      `${what} since this job began; resume it unchanged, or start a new one with another --output`,
    );
  };
  if (begun.input.sha256 !== now.input.sha256) refuse(`${now.input.path} has changed`);
  const names = new Set([...Object.keys(begun.work), ...Object.keys(now.work)]);
  for (const name of names)
    if (!isDeepStrictEqual(begun.work[name] ?? null, now.work[name] ?? null))
      refuse(`the ${name} has changed`);
}
