import { expect, test } from "vitest";
import { countText, loadText, shareOf } from "./machine-text.ts";

test("numbers stay short, whatever a machine reports", () => {
  expect([0, 12, 2.5, 999_999, 1e308].map(countText)).toEqual(["0", "12", "3", "999999", "1000000+"]);
  expect([0, 0.416, 9.994, 12.04, 1e308].map(loadText)).toEqual(["0.00", "0.42", "9.99", "12.0", "1000+"]);
});

test("a bar is never more than full", () => {
  expect([shareOf(1, 4), shareOf(0, 0), shareOf(9, 3), shareOf(1e308, Infinity)]).toEqual([25, 0, 100, 0]);
});
