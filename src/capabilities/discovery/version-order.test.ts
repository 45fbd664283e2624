import { expect, it } from "vitest";
import { compareVersions } from "./version-order.ts";

it.each([
  ["1.9.9", "1.10.0"],
  ["1.0.0-beta", "1.0.0"],
  ["1.0.0-1", "1.0.0-a"],
  ["1.0.0-alpha.2", "1.0.0-alpha.10"],
  ["1.0.0-alpha", "1.0.0-alpha.1"],
  ["1.0.0+1", "1.0.0+2"],
  ["10", "9"],
  ["01.0.0", "1.0.0"],
  ["1.0.0", "deadbeef"],
])("%s comes before %s", (lesser, greater) => {
  expect(compareVersions(lesser, greater)).toBeLessThan(0);
  expect(compareVersions(greater, lesser)).toBeGreaterThan(0);
  expect(compareVersions(lesser, lesser)).toBe(0);
});
