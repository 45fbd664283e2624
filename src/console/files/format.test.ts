import { expect, test } from "vitest";
import { formatDate, formatMode } from "./format.ts";

test.each([
  ["file", 0o644, "-rw-r--r--"],
  ["directory", 0o1777, "drwxrwxrwt"],
  ["file", 0o4755, "-rwsr-xr-x"],
  ["file", 0o2644, "-rw-r-Sr--"],
  ["link", 0o777, "lrwxrwxrwx"],
  ["pipe", 0o644, "prw-r--r--"],
  ["other", 0o644, "?rw-r--r--"],
])("a %s of mode %o is %s", (kind, mode, text) => {
  expect(formatMode(kind, mode)).toBe(text);
});

test("today is a time, this year a day, and before that a year is shown", () => {
  const now = new Date(2026, 5, 15, 12);
  expect(formatDate(new Date(2026, 5, 15, 8, 5), now)).toMatch(/08:05/);
  expect(formatDate(new Date(2026, 0, 2), now)).not.toMatch(/2026/);
  expect(formatDate(new Date(2024, 0, 2), now)).toMatch(/2024/);
});
