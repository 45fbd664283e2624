import { expect, test } from "vitest";
import { formatBytes, formatDate, formatMode } from "./format.ts";

test.each([
  [0, "0 B"],
  [999, "999 B"],
  [1000, "1.00 kB"],
  [9999, "10.0 kB"],
  [12_345, "12.3 kB"],
  [99_960, "100 kB"],
  [999_600, "1.00 MB"],
  [200e6, "200 MB"],
  [5e15, "5.00 PB"],
])("%i bytes are %s", (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});

test.each([
  ["file", 0o644, "-rw-r--r--"],
  ["directory", 0o1777, "drwxrwxrwt"],
  ["file", 0o4755, "-rwsr-xr-x"],
  ["file", 0o2644, "-rw-r-Sr--"],
  ["link", 0o777, "lrwxrwxrwx"],
])("a %s of mode %o is %s", (kind, mode, text) => {
  expect(formatMode(kind, mode)).toBe(text);
});

test("today is a time, this year a day, and before that a year is told", () => {
  const now = new Date(2026, 5, 15, 12);
  expect(formatDate(new Date(2026, 5, 15, 8, 5), now)).toMatch(/08:05/);
  expect(formatDate(new Date(2026, 0, 2), now)).not.toMatch(/2026/);
  expect(formatDate(new Date(2024, 0, 2), now)).toMatch(/2024/);
});
