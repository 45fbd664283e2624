import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { tryToLock } from "../../native/file-lock.ts";
import { BundleFiles } from "./bundle-files.ts";

let directory: string;

beforeEach(() => {
  directory = mkdtempSync("/var/tmp/bundle-files-");
  vi.stubEnv("TMPDIR", directory);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(directory, { recursive: true });
});

/** A directory that some server has left, an hour ago. */
function left(name: string): string {
  const path = join(directory, name);
  mkdirSync(path);
  writeFileSync(join(path, "lock"), "");
  writeFileSync(join(path, "a.pem"), "old");
  const before = Date.now() / 1_000 - 3_600;
  utimesSync(path, before, before);
  return path;
}

it("gives each process a file of its own, and leaves nothing", () => {
  const files = new BundleFiles();
  const [one, other] = [files.write("certificates"), files.write("certificates")];
  expect(one.path).not.toBe(other.path);
  expect(readFileSync(one.path, "utf8")).toBe("certificates");
  one.remove();
  expect(readFileSync(other.path, "utf8")).toBe("certificates");
  other.remove();
  expect(readdirSync(directory)).toEqual([]);
  files.write("again").remove();
  expect(readdirSync(directory)).toEqual([]);
});

it("removes what a killed server has left, and nothing else", () => {
  const [abandoned, used, strange] = ["exec-server-trust-a", "exec-server-trust-b", "other"].map(left);
  const release = tryToLock(join(used!, "lock"))!;
  const fresh = join(directory, "exec-server-trust-c");
  mkdirSync(fresh);
  new BundleFiles().write("x").remove();
  expect([abandoned, used, strange, fresh].map((path) => existsSync(path!))).toEqual([
    false,
    true,
    true,
    true,
  ]);
  release();
});

it("says why there is none", () => {
  vi.stubEnv("TMPDIR", join(directory, "missing"));
  expect(() => new BundleFiles().write("x")).toThrow(/^the bundle of certificates cannot be written: ENOENT/);
});
