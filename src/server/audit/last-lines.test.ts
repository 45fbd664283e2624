import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { readLastLines } from "./last-lines.ts";

const directory = mkdtempSync(join(tmpdir(), "lines-"));
afterAll(() => rmSync(directory, { recursive: true }));

test.each([
  ["", 5, []],
  ["a\nb\nc\n", 2, ["b", "c"]],
  ["a\nb\nc\n", 9, ["a", "b", "c"]],
  ["a\nb\nunfinished", 9, ["a", "b"]],
  ["a\n", 0, []],
])("of %j the last %i are %j", async (text, count, lines) => {
  const path = join(directory, "log");
  writeFileSync(path, text);
  expect(await readLastLines(path, count)).toEqual(lines);
});

test("of a long file only whole lines are read, and not more than half a mebibyte", async () => {
  const path = join(directory, "long");
  const line = "ü".repeat(500);
  writeFileSync(path, `${line}\n`.repeat(2000));
  const lines = await readLastLines(path, 2000);
  expect(lines.length).toBe(Math.floor((512 * 1024) / 1001));
  expect(new Set(lines)).toEqual(new Set([line]));
});
