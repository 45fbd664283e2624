import type { ExitReport } from "../routes/process-events.ts";
import type { RemoteProcess } from "./remote-process.ts";

/** How a process has exited, if that is known by now. Its output may be open. */
export function knownExit({ exited }: Pick<RemoteProcess, "exited">): Promise<ExitReport | undefined> {
  const known: Promise<ExitReport | undefined> = exited.catch(() => undefined);
  // The first of two that have settled wins.
  return Promise.race([known, Promise.resolve().then(() => undefined)]);
}
