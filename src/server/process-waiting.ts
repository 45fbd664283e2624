import type { ManagedProcess } from "../capabilities/process/managed-process.ts";

const MAX_TIMER_MS = 2 ** 31 - 1;

/** Resolves when an event of the process has made `holds` true, the time is over or the signal is aborted. Without a time there is no limit. */
export function waitForProcess(
  process: ManagedProcess,
  holds: () => boolean,
  { timeoutMs, signal }: { timeoutMs: number | null | undefined; signal: AbortSignal },
): Promise<void> {
  // An aborted signal tells nobody who comes later.
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      unlisten();
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer =
      typeof timeoutMs === "number" ? setTimeout(done, Math.min(timeoutMs, MAX_TIMER_MS)) : undefined;
    const unlisten = process.listen(() => {
      if (holds()) done();
    });
    signal.addEventListener("abort", done, { once: true });
  });
}
