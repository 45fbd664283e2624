import { messageOf } from "../../base/errors.ts";
import { writeErr } from "../shared/standard-streams.ts";

/** `stop` may wait the first time; a second signal, of either kind, is not kept waiting. */
export function onStopSignal(stop: (signal: string) => Promise<void>): void {
  let isStopping = false;
  for (const signal of ["SIGTERM", "SIGINT"] as const)
    process.on(signal, () => {
      exitAfter(stop(isStopping ? "SIGINT" : signal));
      isStopping = true;
    });
}

/** For a parent that provides this program's credentials, or that it should not outlive. */
export function endWithStdin(stdinEnd: Promise<void> | undefined, stop: () => Promise<void>): void {
  stdinEnd?.then(
    () => exitAfter(stop()),
    (error: unknown) => {
      writeErr(`Error: ${messageOf(error)}\n`);
      exitAfter(stop(), 1);
    },
  );
}

/** What has been started; the program ends if stdin ends first: starting may wait for a relay that cannot be reached. */
export async function startedBefore<T extends object>(
  stdinEnd: Promise<void> | undefined,
  starting: Promise<T>,
): Promise<T> {
  if (stdinEnd === undefined) return starting;
  const started = await Promise.race([starting, stdinEnd.then(() => undefined)]);
  return started ?? process.exit(0);
}

export function exitAfter(stopped: Promise<unknown>, status = 0): void {
  stopped.then(
    () => process.exit(status),
    (error: unknown) => {
      writeErr(`the server could not stop cleanly: ${String(error)}\n`);
      process.exit(1);
    },
  );
}
