import { anySignal } from "../../../base/deadlines.ts";
import { setMaxListeners } from "node:events";

/** A unit of work, which may push more. */
export type Task = (push: (task: Task) => void, signal: AbortSignal) => Promise<void>;

/**
 * Runs tasks and those that they push, several at a time and newest first: a tree is walked depth first, so the number
 * of waiting tasks is bounded by its depth and its widest directories. The first failure aborts the others. Settles
 * when no task is running.
 */
export function runTasks(
  tasks: readonly Task[],
  { concurrency, signal: outer }: { concurrency: number; signal: AbortSignal },
): Promise<void> {
  const failing = new AbortController();
  const signal = anySignal([outer, failing.signal]);
  // Each pending request listens to it.
  setMaxListeners(0, signal);
  const waiting = [...tasks];
  let active = 0;
  return new Promise((resolve, reject) => {
    const push = (task: Task): void => {
      waiting.push(task);
    };
    const next = (): void => {
      while (active < concurrency && !signal.aborted) {
        const task = waiting.pop();
        if (task === undefined) break;
        active += 1;
        // A task may throw before it returns a promise.
        Promise.resolve()
          .then(() => task(push, signal))
          .catch((error: unknown) => failing.abort(error))
          .finally(() => {
            active -= 1;
            next();
          });
      }
      if (active > 0) return;
      if (signal.aborted) reject(signal.reason as Error);
      else resolve();
    };
    next();
  });
}
