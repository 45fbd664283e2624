import { expect, it } from "vitest";
import { RequestTurn } from "./request-turn.ts";

/** Longer than a turn. */
const LONG_MS = 20;

function work(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

/** Asks before each of `count` requests, and returns how many may run in this turn. */
function runMany(turn: RequestTurn, count: number, ms: number): number {
  for (let done = 0; done < count; done += 1) {
    if (turn.isOver()) return done;
    work(ms);
  }
  return count;
}

it("is over after some milliseconds, until everything else has had its turn", async () => {
  const order: string[] = [];
  const resumed = new Promise<void>((resolve) => {
    setImmediate(() => order.push("everything else"));
    const turn = new RequestTurn(() => {
      order.push("the next turn");
      expect(turn.isOver()).toBe(false);
      resolve();
    });
    expect(runMany(turn, 1_000, 1)).toBeLessThan(100);
    expect(turn.isOver()).toBe(true);
  });
  await resumed;
  expect(order).toEqual(["everything else", "the next turn"]);
});

it("is not over for a client with a few requests while others use theirs up", () => {
  const busy = new RequestTurn(() => {});
  runMany(busy, 1_000, 1);
  const quiet = new RequestTurn(() => {});
  work(LONG_MS);
  expect(runMany(quiet, 4, 0)).toBe(4);
});
