import type { Host } from "../../../client/host/host.ts";
import type { RemoteProcess } from "../../../client/process/remote-process.ts";
import type { StartOptions } from "../../../client/process/start-request.ts";
import { ExecError } from "../../../base/errors.ts";
import { BROKEN_PIPE_STATUS } from "../../shared/standard-streams.ts";
import { type End, INTERRUPTED_STATUS } from "../outcome/end-with.ts";
import { statusOf } from "../outcome/exit-status.ts";
import { forwardSignals } from "./forward-signals.ts";
import { GatheredInput } from "./gathered-input.ts";
import { overdueEnd } from "./unreported-end.ts";
import { reportRecovery } from "./report-recovery.ts";
import { openOutput, OutputWriter } from "./output-stream.ts";

export interface PipedOptions extends Omit<StartOptions, "stdin"> {
  /** Whether this program's stdin is passed on. */
  readonly stdin: boolean;
}

/** Runs a command on pipes, connected to those of this program. Resolves with its end when all is written. */
export async function runPiped(
  host: Host,
  argv: readonly string[],
  { stdin, ...options }: PipedOptions,
): Promise<End> {
  reportRecovery(host);
  const remote = await host.start(argv, { ...options, stdin: stdin ? "pipe" : "none" });
  const output = new PassedOutput(remote);
  const isWriting = (): boolean => output.isWriting;
  const signals = forwardSignals(host, remote, isWriting);
  const end = overdueEnd(remote, options.timeoutMs, isWriting);
  const input = stdin ? passInput(remote) : undefined;
  try {
    await Promise.race([output.pass(), signals.givenUp, end.overdue]);
    const status = statusOf(await remote.exited);
    return status === INTERRUPTED_STATUS && signals.passed.has("SIGINT") ? "SIGINT" : status;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPIPE") throw error;
    // The reader is gone. A local command would be ended by SIGPIPE.
    await remote.kill();
    return BROKEN_PIPE_STATUS;
  } finally {
    input?.stop();
    signals.stop();
    end.stop();
  }
}

/** A command that has ended, or has closed its stdin, takes no more; that is not an error. */
function passInput(remote: RemoteProcess): { stop(): void } {
  const input = process.stdin;
  remote.writeFrom(new GatheredInput(input)).catch((error: unknown) => {
    if (!(error instanceof ExecError)) throw error;
  });
  return { stop: () => input.destroy() };
}

/** In one loop, so that the output here has the order in which the server got it. */
class PassedOutput {
  readonly #remote: RemoteProcess;
  /** True while output waits for its reader here. */
  isWriting = false;

  constructor(remote: RemoteProcess) {
    this.#remote = remote;
  }

  async pass(): Promise<void> {
    const [stdout, stderr] = [new OutputWriter(openOutput(1)), new OutputWriter(openOutput(2))];
    for await (const { stream, bytes } of this.#remote.output()) {
      this.isWriting = true;
      await (stream === "stderr" ? stderr : stdout).write(bytes);
      this.isWriting = false;
    }
  }
}
