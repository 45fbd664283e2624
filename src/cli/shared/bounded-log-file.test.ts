import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { BoundedLogFile, MAX_LOG_BYTES } from "./bounded-log-file.ts";

let directory = "";
beforeEach(() => void (directory = mkdtempSync(join(tmpdir(), "es-log-"))));
afterEach(() => rmSync(directory, { recursive: true }));

const textOf = (name: string): string => readFileSync(join(directory, name), "utf8");

function open(path: string): { readonly log: BoundedLogFile; readonly codes: readonly unknown[] } {
  const codes: unknown[] = [];
  const log = new BoundedLogFile(path, (error) => codes.push((error as NodeJS.ErrnoException).code));
  return { log, codes };
}

/** Writes until the next line begins a new file. */
function fill(log: BoundedLogFile): void {
  for (let bytes = 0; bytes < MAX_LOG_BYTES; bytes += 1024) log.write(`${"x".repeat(1023)}\n`);
}

it("lines are added at the end of a file that only its owner can read", () => {
  const path = join(directory, "log");
  open(path).log.write("one\n");
  open(path).log.write("two\n");
  expect(textOf("log")).toBe("one\ntwo\n");
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

it("a full log is started over, and the one before is kept", () => {
  const { log } = open(join(directory, "log"));
  const line = `${"x".repeat(1023)}\n`;
  for (let count = 0; count < 2500; count += 1) log.write(line);
  expect(statSync(join(directory, "log.old")).size).toBe(MAX_LOG_BYTES);
  expect(statSync(join(directory, "log")).size).toBe(2500 * 1024 - 2 * MAX_LOG_BYTES);
  log.write("x".repeat(10 * MAX_LOG_BYTES));
  expect(statSync(join(directory, "log")).size).toBeLessThan(MAX_LOG_BYTES);
});

it("a line that is too long is cut, and the next one begins on its own line", () => {
  const { log } = open(join(directory, "log"));
  log.write(`${"x".repeat(100_000)}\n`);
  log.write("next\n");
  expect(textOf("log")).toMatch(/^x+\nnext\n$/);
});

it("the first of many lines that are lost is reported, and each further one is tried", () => {
  const path = join(directory, "log");
  const { log, codes } = open(path);
  fill(log);
  rmSync(path);
  mkdirSync(join(path, "something"), { recursive: true });
  log.write("lost\n");
  log.write("lost\n");
  expect(codes).toEqual(["ENOTEMPTY"]);
  rmSync(path, { recursive: true });
  log.write("kept\n");
  expect(textOf("log")).toBe("kept\n");
  expect(codes).toEqual(["ENOTEMPTY"]);
});

it("a full disk ends nothing, and is reported", () => {
  const { log, codes } = open("/dev/full");
  log.write("lost\n");
  expect(codes).toEqual(["ENOSPC"]);
});

it("a file that cannot be opened is an error at once", () => {
  mkdirSync(join(directory, "log", "something"), { recursive: true });
  expect(() => open(join(directory, "log"))).toThrow("ENOTEMPTY");
  expect(() => open(join(directory, "missing", "log"))).toThrow("ENOENT");
});

it("a file is there before its first line, also where an empty directory was left behind", () => {
  mkdirSync(join(directory, "log"));
  open(join(directory, "log"));
  expect(textOf("log")).toBe("");
});

it("a link is not followed", () => {
  writeFileSync(join(directory, "victim"), "untouched");
  symlinkSync("victim", join(directory, "log"));
  expect(() => open(join(directory, "log"))).toThrow("ELOOP");
  expect(textOf("victim")).toBe("untouched");
});
