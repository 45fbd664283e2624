import { after } from "../../base/duration.ts";
import type { ManagedProcess } from "../../capabilities/process/managed-process.ts";

/**
 * Resolves when an event of the process has made `holds` true, on timeout, or when the signal is aborted. Default: no
 * timeout.
 */
export function waitForProcess(
  process: ManagedProcess,
  holds: () => boolean,
  { timeoutMs, signal }: { timeoutMs: number | null | undefined; signal: AbortSignal },
): Promise<void> {
  // An already aborted signal fires no event.
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      cancelTimer?.();
      unlisten();
      signal.removeEventListener("abort", done);
      resolve();
    };
    const cancelTimer = typeof timeoutMs === "number" ? after(timeoutMs, done) : undefined;
    const unlisten = process.listen(() => {
      if (holds()) done();
    });
    signal.addEventListener("abort", done);
  });
}
