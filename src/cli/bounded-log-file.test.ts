import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { BoundedLogFile, MAX_LOG_BYTES } from "./bounded-log-file.ts";

let directory = "";
beforeEach(() => void (directory = mkdtempSync(join(tmpdir(), "es-log-"))));
afterEach(() => rmSync(directory, { recursive: true }));

const textOf = (name: string): string => readFileSync(join(directory, name), "utf8");

it("lines are added at the end of a file that only its owner can read", () => {
  const path = join(directory, "log");
  new BoundedLogFile(path).write("one\n");
  new BoundedLogFile(path).write("two\n");
  expect(textOf("log")).toBe("one\ntwo\n");
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

it("a full log is started anew, and the one before is kept", () => {
  const log = new BoundedLogFile(join(directory, "log"));
  const line = `${"x".repeat(1023)}\n`;
  for (let count = 0; count < 2500; count += 1) log.write(line);
  expect(statSync(join(directory, "log.old")).size).toBe(MAX_LOG_BYTES);
  expect(statSync(join(directory, "log")).size).toBe(2500 * 1024 - 2 * MAX_LOG_BYTES);
  log.write("x".repeat(10 * MAX_LOG_BYTES));
  expect(statSync(join(directory, "log")).size).toBeLessThan(MAX_LOG_BYTES);
});

it("a line that is too long is cut, and the next one begins on its own line", () => {
  const log = new BoundedLogFile(join(directory, "log"));
  log.write(`${"x".repeat(100_000)}\n`);
  log.write("next\n");
  expect(textOf("log")).toMatch(/^x+\nnext\n$/);
});

it("what cannot be written is lost, and the next line is tried again", () => {
  const path = join(directory, "log");
  const log = new BoundedLogFile(path);
  mkdirSync(path);
  log.write("lost\n");
  rmSync(path, { recursive: true });
  log.write("kept\n");
  expect(textOf("log")).toBe("kept\n");
});

it("a full disk ends nothing", () => {
  const log = new BoundedLogFile("/dev/full");
  expect(() => log.write("lost\n")).not.toThrow();
});

it("a link is not followed", () => {
  writeFileSync(join(directory, "victim"), "untouched");
  symlinkSync("victim", join(directory, "log"));
  new BoundedLogFile(join(directory, "log")).write("lost\n");
  expect(textOf("victim")).toBe("untouched");
});
