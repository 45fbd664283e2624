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

/** Where rows come from, and where their results go. */
export interface JobFiles extends RowsFileOptions {
  /** The file with the rows. */
  readonly input: string;
  /** The file for the results: CSV, or JSON lines if its name ends with `.jsonl`. */
  readonly output: string;
  /** Default: the output's name with `.ledger` added. */
  readonly ledger?: string;
  /** Continues a job that was interrupted. Default: false. */
  readonly resume?: boolean;
}

/** How the engine works, as far as its user decides. */
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

/** What is done with each row. */
export interface JobWork extends Pick<RunRowsOptions, "run" | "takeOver" | "places"> {
  /** What a resumed job must have in common with the one that was interrupted, by the names that messages use. */
  readonly identity: Readonly<Record<string, JsonValue>>;
  /** Looks at every row before anything begins, once the columns are known. Throws for columns that do not fit. */
  readonly check?: (columns: readonly string[]) => CheckRow;
  /** Called with what is known about the attempts, before anything begins. */
  readonly opened?: (attempts: JobAttempts) => void;
}

/** What the ledger of a job says about its attempts. */
export interface JobAttempts {
  readonly jobId: string;
  /** Every machine on which attempts were begun, in this run and in earlier ones. */
  readonly places: ReadonlySet<string>;
  /** Whether this is the attempt at the row that counts, there, and its end is not recorded. */
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
   * False if the run was given up, and ordering so many results would have taken too long: the output has the rows that
   * have ended, in the order of their ends, and there are no groups.
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
  const { input: path, output, resume = false } = files;
  const ledgerPath = files.ledger ?? `${output}.ledger`;
  checkPlaces(files, ledgerPath);
  checkLimits(options);
  const { signal } = options;
  const input = await RowsFile.open(path, files, work.check, signal);
  const header: JobHeader = {
    kind: "job",
    version: 1,
    jobId: randomId(),
    input: { path, sha256: input.sha256, rows: input.count },
    work: {
      ...work.identity,
      format: files.format ?? null,
      delimiter: files.delimiter ?? null,
      "id column": files.idColumn ?? null,
    },
    at: new Date().toISOString(),
  };
  await using ledger = resume
    ? await FileLedger.resume(ledgerPath, header, (begun) => checkSame(begun, header))
    : await FileLedger.create(ledgerPath, header);
  const results = new OutputFile(output, input, ledger);
  try {
    await results.begin({ isResumed: resume, signal });
  } catch (error) {
    // Nothing has begun, so nothing is left.
    if (!resume) await rm(ledgerPath, { force: true });
    throw error;
  }
  const { onStart, ...engine } = options;
  work.opened?.({
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
      ...(work.takeOver === undefined ? {} : { takeOver: work.takeOver }),
      ...(work.places === undefined ? {} : { places: work.places }),
      run: work.run,
      rows: input.rows(),
      ledger,
      onRecord: (item, record) => results.add(item, record),
    });
  } catch (error) {
    // What is known is written as well as it can be; the error matters more.
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

function checkPlaces({ input, output, resume }: JobFiles, ledger: string): void {
  if (output === "-")
    throw new UsageError("results cannot go to stdout, because they are ordered at the end; give a file");
  if (existsSync(output) && !statSync(output).isFile())
    throw new UsageError(`${output} is not a regular file; results need one`);
  for (const [path, what] of [
    [output, "output"],
    [ledger, "ledger"],
  ] as const)
    if (isSameFile(path, input))
      throw new UsageError(`the ${what} would replace the input ${input}; give another --${what}`);
  if (isSameFile(output, ledger))
    throw new UsageError("the output and the ledger cannot be one file; give another --ledger");
  if (resume === true) return;
  const existing = [ledger, output].find((path) => existsSync(path));
  if (existing !== undefined)
    throw new UsageError(
      `${existing} exists; resume the job with --resume, remove it, or give another --output`,
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
      `${what} since this job began; resume it as it was, or begin a new one with another --output`,
    );
  };
  if (begun.input.sha256 !== now.input.sha256) refuse(`${now.input.path} has changed`);
  const names = new Set([...Object.keys(begun.work), ...Object.keys(now.work)]);
  for (const name of names)
    if (!isDeepStrictEqual(begun.work[name] ?? null, now.work[name] ?? null))
      refuse(`the ${name} has changed`);
}
