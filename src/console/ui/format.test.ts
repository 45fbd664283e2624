import { expect, test } from "vitest";
import { formatPercent } from "./format.ts";

test.each([
  [0.01, "0"],
  [0.44, "0.4"],
  [12.3, "12"],
  [215, "215"],
])("%d percent are %s", (percent, text) => {
  expect(formatPercent(percent)).toBe(text);
});
