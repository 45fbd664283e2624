import { expect, test } from "vitest";
import { formatDuration, formatSize } from "./amounts.ts";

test.each([
  [0, "0 B"],
  [1023, "1023 B"],
  [1024, "1.0 KiB"],
  [1536, "1.5 KiB"],
  [10 * 1024, "10 KiB"],
  [1024 * 1024 - 1, "1.0 MiB"],
  [3.5 * 1024 ** 3, "3.5 GiB"],
  [Number.MAX_SAFE_INTEGER, "8.0 PiB"],
])("%d bytes are %s", (bytes, text) => expect(formatSize(bytes)).toBe(text));

test.each([
  [-5, "0s"],
  [999, "0s"],
  [59_999, "59s"],
  [60_000, "1m"],
  [200_000, "3m 20s"],
  [3_600_000, "1h"],
  [5_400_000, "1h 30m"],
  [187_200_000, "2d 4h"],
])("%d ms are %s", (ms, text) => expect(formatDuration(ms)).toBe(text));
