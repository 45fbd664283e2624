import {
  chmodSync,
  linkSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { wanted } from "../../../test/fixtures/wanted.ts";
import { AllowedRoots } from "./allowed-roots.ts";
import { copy } from "./copy.ts";
import { createDirectory } from "./directories.ts";
import { sandboxedAccess } from "./file-access.ts";
import { createLink } from "./links.ts";
import { Location } from "./location.ts";
import { remove } from "./remove.ts";
import { rename } from "./rename.ts";
import { writeFile } from "./write-file.ts";

const FILE = { recursive: false, signal: wanted };
const REMOVAL = { recursive: true, force: true, signal: wanted };
const SET_ID = 0o6755;
const LARGE = 256 * 1024;

let directory: string;
const path = (): string => join(directory, "program");
const confined = (name: string): Location => new Location(join(directory, name), sandboxedAccess);
const mode = (): string => (statSync(path()).mode & 0o7777).toString(8);

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "writing-"));
  writeFileSync(path(), "old", { mode: 0o600 });
  chmodSync(path(), 0o755);
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

// With roots or a sandbox, no write leaves a program with its set-user-ID bit, whenever that was set.

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
  const copying = copy(confined("source"), confined("program"), FILE).finally(() => {
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

describe.each([
  ["roots", () => new AllowedRoots(["/"])],
  ["a sandbox", () => sandboxedAccess],
])("with %s, entries of the kernel's file systems", (_, access) => {
  const at = (path: string): Location => new Location(path, access());
  const here = (name: string): Location => at(join(directory, name));
  const followed = { followSymlinks: true };
  const unfollowed = { followSymlinks: false };
  // Its own errors for them are others.
  const REFUSED = "is a device or a kernel file, which cannot be written with roots or a sandbox";

  it.each<[string, () => unknown]>([
    ["create a directory", () => createDirectory(at("/sys/new"), { recursive: false, ...followed })],
    ["with its parents", () => createDirectory(at("/sys/new/er"), { recursive: true, ...followed })],
    ["without links", () => createDirectory(at("/sys/new"), { recursive: false, ...unfollowed })],
    ["that and parents", () => createDirectory(at("/sys/new/er"), { recursive: true, ...unfollowed })],
    ["create a link", () => createLink(at("/sys/new"), "x", { replace: false })],
    ["replace by a link", () => createLink(at("/sys/kernel"), "x", { replace: true })],
    ["copy a link", () => copy(here("link"), at("/sys/new"), FILE)],
    ["rename", () => rename(at("/sys/kernel"), at("/sys/new"))],
    ["move there", () => rename(here("program"), at("/sys/new"))],
    ["remove", () => remove(at("/sys/kernel/mm"), { ...REMOVAL, ...followed })],
    ["remove unlinked", () => remove(at("/sys/kernel/mm"), { ...REMOVAL, recursive: false, ...unfollowed })],
  ])("are left alone: %s", async (_change, change) => {
    symlinkSync("target", join(directory, "link"));
    await expect((async () => change())()).rejects.toThrow(REFUSED);
  });

  it("that exist count as created, and those that do not as removed", async () => {
    for (const links of [followed, unfollowed])
      await createDirectory(at("/sys/kernel"), { recursive: true, ...links });
    await remove(at("/sys/none"), { ...REMOVAL, ...followed });
  });
});
