import { readFileSync, readlinkSync } from "node:fs";
import { expect, it } from "vitest";
import { releaseProgramPages } from "./program-pages.ts";

/** Of the largest mapping of Node's program, in KiB. */
function programRss(): number {
  const program = readlinkSync("/proc/self/exe");
  const mappings = readFileSync("/proc/self/smaps", "latin1").split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m);
  const sizes = mappings
    .filter((mapping) => mapping.split("\n")[0]?.endsWith(program))
    .map((mapping) => Number(/^Rss: +([0-9]+) kB$/m.exec(mapping)?.[1]));
  return Math.max(...sizes);
}

it("gives back most pages of the program, which goes on", () => {
  const before = programRss();
  releaseProgramPages();
  const after = programRss();
  expect(before).toBeGreaterThan(20 * 1024);
  expect(after).toBeLessThan(before / 2);
  expect(["b", "a"].toSorted()).toEqual(["a", "b"]);
});
