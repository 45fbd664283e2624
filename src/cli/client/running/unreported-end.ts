import { after, formatDuration } from "../../../base/duration.ts";
import type { RemoteProcess } from "../../../client/process/remote-process.ts";
import { Failure, OWN_FAILURE_STATUS } from "../../shared/failure.ts";
import { statusOf } from "../outcome/exit-status.ts";

/** How long to wait for the end of a command, after its timeout or Ctrl-C, before asking the server. */
export const END_MS = 10_000;
/** Time for the server's answer. */
const ANSWER_MS = 5_000;

/** The server's answer about a process. */
type ReportedState = "running" | "ended" | Failure;

/**
 * Asks a server that has not reported the end of a process. A Failure if it does not answer, or has nothing more to
 * report. `isWriting` is true while output waits for its reader here: the end comes after it.
 */
export async function askForEnd(remote: RemoteProcess, isWriting: () => boolean): Promise<ReportedState> {
  try {
    const signal = AbortSignal.timeout(ANSWER_MS);
    const read = await remote.read({ afterSeq: Number.MAX_SAFE_INTEGER, maxBytes: 1, signal });
    if (!read.exited) return "running";
    if (!read.closed || isWriting()) return "ended";
    const { exitCode, sandboxDenied, exit } = read;
    const status = statusOf({ exitCode, sandboxDenied, ...exit });
    return new Failure("the command has ended, but the server did not report it", status);
  } catch {
    const message = "the server does not report the end of the command, and does not answer";
    return new Failure(message, OWN_FAILURE_STATUS);
  }
}

/** Rejects if the end of a command is not reported although its time is up, until `stop` is called. */
export function overdueEnd(
  remote: RemoteProcess,
  timeoutMs: number | undefined,
  isWriting: () => boolean = () => false,
): { readonly overdue: Promise<never>; readonly stop: () => void } {
  if (timeoutMs === undefined) return { overdue: new Promise(() => {}), stop: () => {} };
  let stop = (): void => {};
  const overdue = new Promise<never>((_, reject) => {
    const check = async (): Promise<void> => {
      const said = await askForEnd(remote, isWriting);
      if (said instanceof Failure) reject(said);
      else if (said === "running")
        reject(
          new Failure(
            `the command should have ended after ${formatDuration(timeoutMs)}, but the server says it is still running`,
            OWN_FAILURE_STATUS,
          ),
        );
      // Something still writes, or reads here.
      else stop = after(END_MS, () => void check());
    };
    stop = after(timeoutMs + END_MS, () => void check());
  });
  overdue.catch(() => {});
  return { overdue, stop: () => stop() };
}
