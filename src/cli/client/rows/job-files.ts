import { createReadStream, createWriteStream, existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, normalize } from "node:path";
import { pipeline } from "node:stream/promises";
import { resultsPath } from "../../../base/results-path.ts";
import type { JobFiles } from "../../../rows/job/file-job.ts";
import { defined } from "../../shared/defined.ts";
import { usageFailure } from "../../shared/failure.ts";
import { untilInterrupted } from "../outcome/until-interrupted.ts";
import { print, writeErr } from "../../shared/standard-streams.ts";
import type { JobFlags } from "./job-flags.ts";

/** Stands for stdin or stdout. */
const STREAM = "-";

/**
 * Calls `run` with the source of the rows and the destination of their results. A job reads its rows more than once, and
 * orders its results at the end, so temporary files stand for stdin and stdout; the results are printed when `run` has
 * ended, however it did.
 */
export async function withJobFiles<F extends JobFlags, T>(
  input: string,
  given: F,
  run: (files: JobFiles, flags: F) => Promise<T>,
): Promise<T> {
  const { ledger, format, delimiter, idColumn, force } = given;
  const resume = given.resume === true || given.onlyFailed === true;
  const output = given.output ?? (input === STREAM ? STREAM : normalize(resultsPath(input)));
  const flags = { ...given, output };
  checkStreams(flags, { output, resume });
  const options = defined({ resume, ledger, format, delimiter, idColumn, force });
  if (input !== STREAM && output !== STREAM) return await run({ input, output, ...options }, flags);
  const directory = await mkdtemp(join(tmpdir(), "exec-server-rows-"));
  const isJson = format === undefined ? /\.(?:jsonl|ndjson|json)$/i.test(input) : format === "jsonl";
  const files = {
    input: input === STREAM ? join(directory, "stdin") : input,
    output: output === STREAM ? join(directory, isJson ? "stdout.jsonl" : "stdout.csv") : output,
  };
  try {
    if (input === STREAM) await untilInterrupted((signal) => readStdin(files.input, signal));
    try {
      return await run({ ...files, ...options }, flags);
    } finally {
      if (output === STREAM && existsSync(files.output))
        for await (const bytes of createReadStream(files.output)) await print(bytes as Uint8Array);
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Whether the results go to stdout. Flags are those that `withJobFiles` passes on. */
export function printsResults({ output }: Pick<JobFlags, "output">): boolean {
  return output === STREAM;
}

/** Prints about a job, beside its results. */
export async function printSummary(flags: Pick<JobFlags, "output">, text: string): Promise<void> {
  if (printsResults(flags)) writeErr(text);
  else await print(text);
}

async function readStdin(path: string, signal: AbortSignal): Promise<void> {
  try {
    await pipeline(process.stdin, createWriteStream(path, { mode: 0o600 }), { signal });
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  }
}

function checkStreams(
  { force, json, dryRun }: JobFlags,
  { output, resume }: { readonly output: string; readonly resume: boolean },
): void {
  if (force === true && resume)
    throw usageFailure("--force begins anew, and --resume and --only-failed continue; choose one");
  if (output !== STREAM || dryRun === true) return;
  if (resume) throw usageFailure("results on stdout cannot be continued; name their file with --output");
  if (json === true)
    throw usageFailure("the results and the summary cannot both go to stdout; name a file with --output");
}
