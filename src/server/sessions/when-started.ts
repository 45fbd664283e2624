/** Where a process is started by id. */
export interface PendingStarts {
  /** Settles when the start with that id has succeeded or failed; undefined if none is in progress. */
  starting(processId: string): Promise<unknown> | undefined;
}

/**
 * Runs now, or once the start of that process has succeeded or failed. Later requests wait too, so that a client that
 * does not wait for the answer to its start sees the same results as one that does.
 */
export function whenStarted<T>(pending: PendingStarts, processId: string, run: () => T): T | Promise<T> {
  // Another one may begin before this one's turn comes.
  return pending.starting(processId)?.then(() => whenStarted(pending, processId, run)) ?? run();
}
