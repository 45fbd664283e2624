import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { systemDisk } from "./disk.ts";

const home = mkdtempSync(join(tmpdir(), "exec-server-disk-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

function at(name: string): string {
  return join(home, name);
}

it("never waits for a pipe, follows a link or reads a large file", () => {
  execFileSync("mkfifo", [at("pipe")]);
  writeFileSync(at("small"), "text\n");
  writeFileSync(at("large"), "x".repeat(4097));
  symlinkSync("small", at("link"));
  expect(systemDisk.text(at("small"))).toBe("text\n");
  for (const name of ["pipe", "large", "link", "missing"]) expect(systemDisk.text(at(name))).toBeUndefined();
  expect(systemDisk.entryAt(at("pipe"))?.kind).toBe("file");
});

it("reports what has a name, and whether it was replaced", () => {
  mkdirSync(at("directory"));
  const before = systemDisk.entryAt(at("directory"));
  rmSync(at("directory"), { recursive: true });
  expect(systemDisk.entryAt(at("directory"))).toBeUndefined();
  // Otherwise the inode could be used again.
  mkdirSync(at("another"));
  mkdirSync(at("directory"));
  const after = systemDisk.entryAt(at("directory"));
  expect([before?.kind, after?.kind]).toEqual(["directory", "directory"]);
  expect(after?.identity).not.toBe(before?.identity);
  expect(systemDisk.entryAt(at("n".repeat(256)))?.kind).toBe("impossible");
  expect(systemDisk.entryAt(`${at("small")}/below`)).toBeUndefined();
});

it("returns whether names can be created in a directory", () => {
  mkdirSync(at("closed"));
  chmodSync(at("closed"), 0o555);
  // Its owner can change the mode.
  expect(systemDisk.canCreateIn(at("closed"))).toBe(true);
  expect(systemDisk.canCreateIn("/proc/self")).toBe(process.geteuid?.() === 0);
});

it("returns whether a directory is empty", () => {
  mkdirSync(at("empty"));
  expect(systemDisk.isEmpty(at("empty"))).toBe(true);
  expect(systemDisk.isEmpty(home)).toBe(false);
  expect(systemDisk.isEmpty(at("missing"))).toBe(true);
});
