import { setImmediate as nextTurn } from "node:timers/promises";

/** How long work in slices may block the server's other work. */
const SLICE_MS = 2;

/** Handles the items one by one, and yields to other work in between. */
export async function inSlices<T>(items: Iterable<T>, handle: (item: T) => void): Promise<void> {
  let sliceEnd = performance.now() + SLICE_MS;
  for (const item of items) {
    handle(item);
    if (performance.now() < sliceEnd) continue;
    await nextTurn();
    sliceEnd = performance.now() + SLICE_MS;
  }
}

/**
 * Takes the steps one by one, and calls `done` after the last: at once, or in a later turn if they do not fit into a
 * slice.
 */
export function takeSteps(steps: Iterator<void>, done: () => void): void {
  const sliceEnd = performance.now() + SLICE_MS;
  while (performance.now() < sliceEnd)
    if (steps.next().done === true) {
      done();
      return;
    }
  setImmediate(() => takeSteps(steps, done));
}
