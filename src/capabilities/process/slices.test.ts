import { afterEach, describe, expect, it, vi } from "vitest";
import { inSlices, takeSteps } from "./slices.ts";

const STEPS = 40;
const STEP_MS = 1;

function work(): void {
  const end = performance.now() + STEP_MS;
  while (performance.now() < end);
}

/** Counts turns of the event loop until it is stopped. */
function countTurns(): () => number {
  let turns = 0;
  let timer = setImmediate(function turn() {
    turns += 1;
    timer = setImmediate(turn);
  });
  return () => {
    clearImmediate(timer);
    return turns;
  };
}

afterEach(() => void vi.useRealTimers());

describe("work in slices", () => {
  it("lets other work pass between steps, and says when it is done", async () => {
    const stop = countTurns();
    let steps = 0;
    await new Promise<void>((resolve) => {
      takeSteps(
        (function* () {
          for (; steps < STEPS; steps += 1) {
            work();
            yield;
          }
        })(),
        resolve,
      );
      expect(steps).toBeLessThan(STEPS);
    });
    expect(steps).toBe(STEPS);
    expect(stop()).toBeGreaterThan(STEPS / 10);
  });

  it("is done at once when there is little to do", () => {
    // The clock of a machine that stands still here would end the slice.
    vi.useFakeTimers({ toFake: ["performance"] });
    let done = false;
    takeSteps([undefined, undefined][Symbol.iterator](), () => {
      done = true;
    });
    expect(done).toBe(true);
  });

  it("lets other work pass as soon as a slice of 2 ms is over, not before", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    for (const [items, turns] of [
      [[1], 0],
      [[1, 1], 1],
      [[1, 1, 1], 1],
      [[2, 2, 2], 3],
    ] as const) {
      const stop = countTurns();
      await inSlices(items, (ms) => vi.advanceTimersByTime(ms));
      expect(stop()).toBe(turns);
    }
    const rest = [2, 2, 2];
    let ended = false;
    takeSteps(
      (function* () {
        for (let ms = rest.shift(); ms !== undefined; ms = rest.shift())
          yield void vi.advanceTimersByTime(ms);
      })(),
      () => {
        ended = true;
      },
    );
    expect([rest.length, ended]).toEqual([2, false]);
    await expect.poll(() => ended).toBe(true);
    expect(rest).toEqual([]);
  });

  it("lets other work pass between items", async () => {
    const stop = countTurns();
    let items = 0;
    await inSlices(Array.from({ length: STEPS }), () => {
      work();
      items += 1;
    });
    expect(items).toBe(STEPS);
    expect(stop()).toBeGreaterThan(STEPS / 10);
  });
});
