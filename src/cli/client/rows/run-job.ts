import { ExecError, messageOf } from "../../../base/errors.ts";
import type { JobOptions, JobSummary, StartedJob } from "../../../rows/job/file-job.ts";
import type { End } from "../outcome/end-with.ts";
import { asFailure, Failure } from "../../shared/failure.ts";
import { untilInterrupted } from "../outcome/until-interrupted.ts";
import { complain } from "../print/complain.ts";
import { printsResults } from "./job-files.ts";
import type { JobFlags } from "./job-flags.ts";
import { JobProgress } from "./job-progress.ts";
import { isSuccess, reportJob } from "./job-report.ts";

/** Longer work after Ctrl-C is announced. */
const NOTICE_MS = 1_000;
const ENDING = "interrupted; ending running rows and sorting the results; press Ctrl-C again to skip that";
const REMEDY = "the same command with --resume continues the job";

/** Runs a job with its progress and its summary, until it ends or is interrupted. Resolves with the exit status. */
export async function runJob<S extends JobSummary>(
  flags: JobFlags,
  run: (options: Required<Pick<JobOptions, "signal" | "onStart" | "onProgress">>) => Promise<S>,
  more: (summary: S) => Readonly<Record<string, unknown>> = () => ({}),
): Promise<End> {
  const progress = new JobProgress();
  let started: StartedJob | undefined;
  let interruption: Failure | undefined;
  const isResumed = flags.resume === true || flags.onlyFailed === true;
  let notice: NodeJS.Timeout | undefined;
  let summary: S;
  try {
    summary = await untilInterrupted(
      (signal) => {
        signal.addEventListener("abort", () => {
          interruption = signal.reason as Failure;
          if (flags.quiet !== true) notice = setTimeout(() => complain(ENDING), NOTICE_MS).unref();
        });
        return run({
          signal,
          onStart: (job) => {
            started = job;
            if (flags.quiet !== true) progress.begin(job);
          },
          onProgress: (now) => progress.update(now),
        });
      },
      printsResults(flags) ? undefined : REMEDY,
    );
  } catch (error) {
    if (started === undefined && interruption !== undefined && !isResumed)
      throw new Failure("interrupted before anything began", interruption.exitCode);
    if (started === undefined || !(error instanceof ExecError)) throw error;
    const message = asFailure(error, 1)?.message ?? messageOf(error);
    throw new Failure(printsResults(flags) ? message : `${message}; ${REMEDY}`, 1);
  } finally {
    clearTimeout(notice);
    progress.end();
  }
  if (flags.quiet !== true || flags.json === true) await reportJob(summary, { flags, more: more(summary) });
  if (interruption !== undefined && (summary.end === "interrupted" || !summary.isOrdered)) throw interruption;
  return isSuccess(summary, flags) ? 0 : 1;
}
