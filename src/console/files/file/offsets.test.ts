import { expect, test } from "vitest";
import { offsetOf } from "./offsets.ts";

test.each([
  ["0", 0],
  [" 1024 ", 1024],
  ["50%", 2500],
  ["0.1 %", 5],
  ["100%", 5000],
  ["999999999999999", 5000],
  ["", undefined],
  ["101%", undefined],
  ["-1", undefined],
  ["1e3", undefined],
  ["half", undefined],
])("%j of 5000 bytes is %s", (typed, offset) => {
  expect(offsetOf(typed, 5000)).toBe(offset);
});
