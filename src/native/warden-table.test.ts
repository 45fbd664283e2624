import { closeSync, fstatSync, readSync } from "node:fs";
import { afterEach, beforeEach, expect, test } from "vitest";
import { WardenTable } from "./warden-table.ts";

let table: WardenTable;

beforeEach(() => {
  table = new WardenTable();
});

afterEach(() => closeSync(table.fd));

/** What the shell reads: the words of each non-empty line. */
function read(): string[] {
  const bytes = Buffer.alloc(fstatSync(table.fd).size);
  readSync(table.fd, bytes, { position: 0 });
  return bytes
    .toString("latin1")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("-"));
}

test("a line says what was written last, and nothing when it was cleared", () => {
  const line = table.take();
  expect(read()).toEqual([]);
  table.write(line, "?", "pipe:[18446744073709551615]");
  expect(read()).toEqual(["? pipe:[18446744073709551615]"]);
  table.write(line, "p", "12");
  expect(read()).toEqual(["p 12"]);
  table.clear(line);
  expect(read()).toEqual([]);
});

test("lines are used again, and there may be as many as it takes", () => {
  const lines = Array.from({ length: 5_000 }, () => table.take());
  for (const line of lines) table.write(line, "p", String(line + 1));
  expect(read()).toEqual(lines.map((line) => `p ${line + 1}`));
  for (const line of lines) table.giveBack(line);
  expect(read()).toEqual([]);
  const size = fstatSync(table.fd).size;
  for (const [index] of lines.entries()) table.write(table.take(), "t", String(index));
  expect(read()).toHaveLength(lines.length);
  expect(fstatSync(table.fd).size).toBe(size);
});

test("a long line stands beside short ones, and across the end of a block", () => {
  const directory = `/sys/fs/cgroup/${"a".repeat(100)} with spaces`;
  for (let count = 0; count < 2_046; count += 1) table.take();
  table.append(`c ${directory}`);
  const after = table.take();
  table.write(after, "p", "7");
  expect(read()).toEqual([`c ${directory}`, "p 7"]);
});
