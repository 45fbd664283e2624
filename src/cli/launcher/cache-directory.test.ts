import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openCacheDirectory } from "./cache-directory.ts";

const NOBODY = 65_534;
const asRoot = process.geteuid?.() === 0;

let parent: string;
let path: string;

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), "exec-server-cache-"));
  path = join(parent, "cache");
});

afterEach(() => rmSync(parent, { recursive: true, force: true }));

it("makes a directory that is the user's alone, and takes it again", () => {
  expect(openCacheDirectory(path)).toBe(path);
  expect(lstatSync(path).mode & 0o777).toBe(0o700);
  expect(openCacheDirectory(path)).toBe(path);
});

it.each([0o720, 0o702])("refuses a directory that others can write (%o)", (mode) => {
  mkdirSync(path);
  chmodSync(path, mode);
  expect(openCacheDirectory(path)).toBeUndefined();
});

it("refuses a link, a file, and a parent that cannot hold a directory", () => {
  const elsewhere = join(parent, "elsewhere");
  mkdirSync(elsewhere, { mode: 0o700 });
  symlinkSync(elsewhere, path);
  expect(openCacheDirectory(path)).toBeUndefined();
  rmSync(path);
  symlinkSync(join(parent, "missing"), path);
  expect(openCacheDirectory(path)).toBeUndefined();
  expect(existsSync(join(parent, "missing"))).toBe(false);
  rmSync(path);
  writeFileSync(path, "");
  expect(openCacheDirectory(path)).toBeUndefined();
  expect(openCacheDirectory("/proc/self/cache")).toBeUndefined();
  expect(openCacheDirectory(join(parent, "missing", "cache"))).toBeUndefined();
});

it.runIf(asRoot)("refuses a directory of another user", () => {
  mkdirSync(path, { mode: 0o700 });
  chownSync(path, NOBODY, NOBODY);
  expect(openCacheDirectory(path)).toBeUndefined();
});
