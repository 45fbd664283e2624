import { expect, test } from "vitest";
import { formatBytes, formatPercent, formatSpan } from "./format.ts";

test.each([
  [0, "0 B"],
  [999, "999 B"],
  [1000, "1.0 kB"],
  [12_345, "12.3 kB"],
  [99_960, "100 kB"],
  [999_600, "1.0 MB"],
  [200e6, "200 MB"],
])("%i bytes are %s", (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});

test.each([
  [-5, "0s"],
  [4_900, "4s"],
  [200_000, "3m 20s"],
  [3_600_000, "1h"],
  [7_500_000, "2h 5m"],
  [3 * 86_400_000 + 4 * 3_600_000, "3d 4h"],
])("%i ms are %s", (ms, text) => {
  expect(formatSpan(ms)).toBe(text);
});

test.each([
  [0.01, "0"],
  [0.44, "0.4"],
  [12.3, "12"],
  [215, "215"],
])("%d percent are %s", (percent, text) => {
  expect(formatPercent(percent)).toBe(text);
});
