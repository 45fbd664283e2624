import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { readSmallFile } from "./read-small-file.ts";

let directory: string;
beforeAll(() => void (directory = mkdtempSync(join(tmpdir(), "es-small-"))));
afterAll(() => rmSync(directory, { recursive: true }));

const at = (name: string): string => join(directory, name);

it("reads a file, also an empty one", () => {
  writeFileSync(at("file"), "text");
  writeFileSync(at("empty"), "");
  expect([readSmallFile(at("file")).toString(), readSmallFile(at("empty")).toString()]).toEqual(["text", ""]);
});

it("refuses what has no end", () => {
  expect(() => readSmallFile("/dev/zero")).toThrow("it is larger than 1 MiB");
  writeFileSync(at("large"), Buffer.alloc(1024 * 1024 + 1));
  expect(() => readSmallFile(at("large"))).toThrow("it is larger than 1 MiB");
  expect(() => readSmallFile(directory)).toThrow("EISDIR");
});

it("reads a pipe whose writer comes late and writes slowly", async () => {
  execFileSync("mkfifo", [at("pipe")]);
  const writer = spawn("sh", ["-c", `sleep 0.2; { echo one; sleep 0.2; echo two; } > ${at("pipe")}`]);
  const ended = once(writer, "exit");
  expect(readSmallFile(at("pipe")).toString()).toBe("one\ntwo\n");
  await ended;
});

it("gives up a pipe without a writer", () => {
  execFileSync("mkfifo", [at("silent")]);
  expect(() => readSmallFile(at("silent"), 100)).toThrow("reading it took longer than 100ms");
});
