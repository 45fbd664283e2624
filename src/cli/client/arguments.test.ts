import { expect, test } from "vitest";
import { parseDurationArgument } from "./arguments.ts";

test.each([
  ["10s", 10_000],
  ["500ms", 500],
  ["1.5m", 90_000],
  ["2h", 7_200_000],
  ["1d", 86_400_000],
  ["3", 3_000],
  ["0", 0],
])("%s is %d ms", (text, ms) => expect(parseDurationArgument(text)).toBe(ms));

test.each(["", "s", "10 s", "-1s", "1e3s", "10S", "1m30s", "Infinity", "1".repeat(13)])(
  "%s is not a duration",
  (text) => expect(() => parseDurationArgument(text)).toThrow("Expected a duration"),
);
