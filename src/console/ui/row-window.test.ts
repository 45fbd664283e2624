import { expect, test } from "vitest";
import { rowWindow, scrollTo } from "./row-window.ts";

const view = (top: number, height = 300) => ({ top, height });

test("only visible rows and a few more are drawn, however many there are", () => {
  for (const top of [0, 15, 1_000_000, 1_799_700]) {
    const { start, end } = rowWindow(view(top), 36, 50_000);
    expect(start * 36).toBeLessThanOrEqual(top);
    expect(end * 36).toBeGreaterThanOrEqual(Math.min(top + 300, 50_000 * 36));
    expect(end - start).toBeLessThan(40);
  }
});

test.each([
  [0, 0],
  [5, 0],
  [5, 10_000],
  [5, -50],
])("%i rows scrolled to %i are within the list", (count, top) => {
  const { start, end } = rowWindow(view(top), 36, count);
  expect(start).toBeGreaterThanOrEqual(0);
  expect(end).toBeLessThanOrEqual(count);
  expect(start).toBeLessThanOrEqual(end);
});

test("a row that is visible does not scroll, and others scroll as little as needed", () => {
  expect(scrollTo(3, view(36), 36)).toBe(36);
  expect(scrollTo(0, view(36), 36)).toBe(0);
  expect(scrollTo(20, view(36), 36)).toBe(21 * 36 - 300);
});
