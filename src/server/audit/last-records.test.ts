import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { lastRecords } from "./last-records.ts";

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "last-records-"));
});

afterEach(() => rmSync(directory, { recursive: true }));

function write(name: string, records: readonly unknown[]): string {
  const path = join(directory, name);
  writeFileSync(path, records.map((record) => `${JSON.stringify({ event: "start", record })}\n`).join(""));
  return path;
}

it("finds the highest number of each keeper, also in the file before", async () => {
  write("audit.1", ["00000001:99"]);
  write("audit.2", ["00000001:4", "0000000a:7"]);
  const file = write("audit", ["0000000b:1", "00000001:5", undefined, "0000000b:2"]);
  expect(await lastRecords(file)).toEqual({ "00000001": 5, "0000000a": 7, "0000000b": 2 });
});

it("ignores lines without a number, and damaged ones", async () => {
  const file = write("audit", [1, "", "__proto__:1", "00000001:", "00000001:0", "00000001:1e9"]);
  writeFileSync(file, "{\nnull\n", { flag: "a" });
  expect(await lastRecords(file)).toEqual({});
});
