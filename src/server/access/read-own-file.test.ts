import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { UsageError } from "../../base/errors.ts";
import { readOwnFile } from "./read-own-file.ts";

let base: string;
const path = (): string => join(base, "table");
const read = (): string => readOwnFile(path(), "the token table");

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "exec-server-own-file-"));
  writeFileSync(path(), "[[token]]\n");
});

afterEach(() => rmSync(base, { recursive: true }));

test("reads the text, also if the group may write it", () => {
  chmodSync(path(), 0o664);
  expect(read()).toBe("[[token]]\n");
});

test("refuses a file that anyone can write to, because anyone could admit themselves", () => {
  chmodSync(path(), 0o666);
  expect(read).toThrow(
    new UsageError(
      `cannot read the token table in ${path()}: anyone can write to it; run: chmod o-w ${path()}`,
    ),
  );
});

test("refuses more than a mebibyte", () => {
  writeFileSync(path(), "x".repeat(1024 * 1024 + 1));
  expect(read).toThrow("it has more than 1048576 bytes");
});

test.each([
  ["a pipe", () => void execFileSync("mkfifo", [path()])],
  ["a directory", () => void execFileSync("mkdir", [path()])],
])("refuses %s at once", (_what, make) => {
  rmSync(path());
  make();
  expect(read).toThrow("it is not a regular file");
});

test("says why a file cannot be read", () => {
  rmSync(path());
  expect(read).toThrow(`cannot read the token table in ${path()}: No such file or directory`);
});
