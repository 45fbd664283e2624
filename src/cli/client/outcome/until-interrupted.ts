import { constants } from "node:os";
import { Failure } from "../../shared/failure.ts";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Aborts the work at the first of these signals, so that it can tidy up; a second one ends the program. */
export async function untilInterrupted<T>(
  work: (signal: AbortSignal) => Promise<T>,
  remedy?: string,
): Promise<T> {
  const controller = new AbortController();
  const interrupt = (name: NodeJS.Signals): void => {
    const status = 128 + constants.signals[name];
    if (controller.signal.aborted) process.exit(status);
    controller.abort(new Failure(remedy === undefined ? "interrupted" : `interrupted; ${remedy}`, status));
  };
  for (const name of SIGNALS) process.on(name, interrupt);
  try {
    return await work(controller.signal);
  } finally {
    for (const name of SIGNALS) process.off(name, interrupt);
  }
}
