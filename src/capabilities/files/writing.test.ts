import { chmodSync, linkSync, mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, expect, it } from "vitest";
import { copy } from "./copy.ts";
import { sandboxedAccess } from "./file-access.ts";
import { Place } from "./place.ts";
import { writeFile } from "./write-file.ts";

const SET_ID = 0o6755;
const LARGE = 256 * 1024;

let directory: string;
const path = (): string => join(directory, "program");
const confined = (name: string): Place => new Place(join(directory, name), sandboxedAccess);
const mode = (): string => (statSync(path()).mode & 0o7777).toString(8);

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "writing-"));
  writeFileSync(path(), "old", { mode: 0o600 });
  chmodSync(path(), 0o755);
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

// With roots or a sandbox, nobody writes a program that keeps the ID of its owner, whenever it got it.

it("takes the ID from a program that gets it while it is written in place", async () => {
  // A file with two names is not replaced.
  linkSync(path(), join(directory, "second"));
  const writing = writeFile(confined("program"), Buffer.alloc(LARGE, 1), { followSymlinks: true });
  chmodSync(path(), SET_ID);
  await writing;
  expect(mode()).toBe("755");
});

it("takes the ID from a program that gets it while it is the destination of a copy", async () => {
  const size = 64 * LARGE;
  writeFileSync(join(directory, "source"), "");
  truncateSync(join(directory, "source"), size);
  chmodSync(join(directory, "source"), 0o755);
  let ended = false;
  const copying = copy(confined("source"), confined("program"), { recursive: false }).finally(() => {
    ended = true;
  });
  for (;;) {
    const copied = statSync(path()).size;
    if (copied > 3 && copied < size) chmodSync(path(), SET_ID);
    if (ended || mode() === "6755") break;
    await setImmediate();
  }
  await copying;
  expect([statSync(path()).size, mode()]).toEqual([size, "755"]);
});
