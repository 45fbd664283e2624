import { settledWithin } from "../../../../base/deadlines.ts";
import type { ConnectOptions } from "../../../../client/host/open-host.ts";
import type { Host } from "../../../../client/host/host.ts";
import type { RemoteProcess } from "../../../../client/process/remote-process.ts";
import type { StartOptions } from "../../../../client/process/start-request.ts";
import { DialError } from "../../../../fleet/dial-error.ts";
import { asFailure, OWN_FAILURE_STATUS } from "../../../shared/failure.ts";
import { overdueEnd } from "../unreported-end.ts";
import { failedStart, statusOf } from "../../outcome/exit-status.ts";

/** A machine's answer: output and status of its command, or why there are none. */
export interface Answer {
  /** The status of `run`: the command's, or 124, 126, 127 or 255. */
  readonly status: number;
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  /** Bytes that were left out of the middle of both. */
  readonly omittedBytes: number;
  /** Why the command did not start, or its end is not known. */
  readonly error?: string;
}

/** Both ends of a longer output are kept. */
const MAX_OUTPUT_BYTES = 1024 * 1024;
/** Time for a command to end by itself after Ctrl-C. */
const GRACE_MS = 2_000;

/** Deadline for its end. */
const END_MS = 5_000;

/** Options for running a command on one of many machines. */
export interface AskOptions {
  readonly connect: (options: ConnectOptions) => Promise<Host>;
  readonly argv: readonly string[];
  readonly start: (host: Host) => StartOptions;
  readonly signal: AbortSignal;
}

/** Runs the command on one machine. Rejects only with the reason of the signal; the command has ended then. */
export async function ask({ connect, argv, start, signal }: AskOptions): Promise<Answer> {
  try {
    await using host = await connect({ signal });
    const options = start(host);
    const remote = await host.start(argv, { ...options, stdin: "none" });
    const due = overdueEnd(remote, options.timeoutMs);
    try {
      const ended = await Promise.race([
        remote.communicate(undefined, { signal, maxOutputBytes: MAX_OUTPUT_BYTES }),
        due.overdue,
      ]);
      return {
        status: statusOf(ended.exit),
        stdout: ended.stdoutBytes,
        stderr: ended.stderrBytes,
        omittedBytes: ended.stdoutOmittedBytes + ended.stderrOmittedBytes,
      };
    } catch (error) {
      if (signal.aborted) await end(remote);
      throw error;
    } finally {
      due.stop();
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    // Machines that fail for the same reason share a line.
    const reason = error instanceof DialError ? error.unnamed() : error;
    const failure = failedStart(reason) ?? asFailure(reason, OWN_FAILURE_STATUS);
    if (failure === undefined) throw error;
    const status = failure.exitCode ?? OWN_FAILURE_STATUS;
    return { status, stdout: EMPTY, stderr: EMPTY, omittedBytes: 0, error: failure.message };
  }
}

const EMPTY = new Uint8Array(0);

/** The end of the session would end it too, but leave it no time. */
async function end(remote: RemoteProcess): Promise<void> {
  const ended = remote.terminate({ timeoutMs: GRACE_MS }).then(() => remote.exited);
  await settledWithin(ended, END_MS);
}
