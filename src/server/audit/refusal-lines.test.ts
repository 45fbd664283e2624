import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { RefusedConnection } from "../settings/observer.ts";
import { RefusalLines } from "./refusal-lines.ts";

const MAX_LINES = 60;
const PERIOD_MS = 60_000;
const REFUSED: RefusedConnection = { cause: "login", reason: "missing token", from: "192.0.2.1:5" };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function recorded() {
  const lines: unknown[] = [];
  const refusals = new RefusalLines((event, facts) => lines.push([event, facts]));
  const refuse = (times: number): void => {
    for (let count = 0; count < times; count += 1) refusals.add(REFUSED);
  };
  return { refusals, lines, refuse };
}

it("so many refusals in a minute have a line each, and the others share one at its end", () => {
  const { lines, refuse } = recorded();
  refuse(MAX_LINES);
  expect(lines).toEqual(Array.from({ length: MAX_LINES }, () => ["refused", REFUSED]));
  refuse(5);
  vi.advanceTimersByTime(PERIOD_MS - 1);
  refuse(1);
  expect(lines).toHaveLength(MAX_LINES);
  vi.advanceTimersByTime(1);
  expect(lines.slice(MAX_LINES)).toEqual([["refused", { more: 6 }]]);
  refuse(MAX_LINES + 1);
  expect(lines).toHaveLength(2 * MAX_LINES + 1);
  vi.advanceTimersByTime(PERIOD_MS);
  expect(lines.at(-1)).toEqual(["refused", { more: 1 }]);
});

it("a minute in which all have a line adds nothing, and no time is measured without refusals", () => {
  const { lines, refuse } = recorded();
  refuse(1);
  vi.advanceTimersByTime(PERIOD_MS);
  expect([lines.length, vi.getTimerCount()]).toEqual([1, 0]);
});

it("what is only counted has its line at the end", () => {
  const { refusals, lines, refuse } = recorded();
  refuse(MAX_LINES + 3);
  refusals.close();
  expect(lines.slice(MAX_LINES)).toEqual([["refused", { more: 3 }]]);
  expect(vi.getTimerCount()).toBe(0);
});
