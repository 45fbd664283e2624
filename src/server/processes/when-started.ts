import type { Session } from "../sessions/session.ts";

/**
 * Runs now, or once the start of that process has succeeded or failed. Later requests wait too, so that a client that
 * does not wait for the answer to its start sees the same results as one that does.
 */
export function whenStarted<T>(session: Session, processId: string, run: () => T): T | Promise<T> {
  return session.processes.starting(processId)?.then(run) ?? run();
}
