import { setImmediate as nextTurn } from "node:timers/promises";

/** How long the server's own work waits for what is done in slices. */
const SLICE_MS = 2;

/** Handles one item after the other, and lets other work pass in between. */
export async function inSlices<T>(items: Iterable<T>, handle: (item: T) => void): Promise<void> {
  let sliceEnd = performance.now() + SLICE_MS;
  for (const item of items) {
    handle(item);
    if (performance.now() < sliceEnd) continue;
    await nextTurn();
    sliceEnd = performance.now() + SLICE_MS;
  }
}

/** Takes one step after the other, and calls `done` after the last: at once, or in a later turn when there is more to do than fits into a slice. */
export function takeSteps(steps: Iterator<void>, done: () => void): void {
  const sliceEnd = performance.now() + SLICE_MS;
  while (performance.now() < sliceEnd)
    if (steps.next().done === true) {
      done();
      return;
    }
  setImmediate(() => takeSteps(steps, done));
}
