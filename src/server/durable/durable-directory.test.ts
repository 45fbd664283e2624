import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { UsageError } from "../../base/errors.ts";
import { DurableDirectory } from "./durable-directory.ts";

let home: string;
let path: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "durable-"));
  path = join(home, "d");
});

afterEach(() => rmSync(home, { recursive: true }));

it("is created for its user alone, and found again", () => {
  expect(() => DurableDirectory.find(path)).toThrow(
    `cannot use ${path} for a durable server: it does not exist`,
  );
  const directory = DurableDirectory.create(path);
  expect(statSync(path).mode & 0o777).toBe(0o700);
  expect(DurableDirectory.create(path).socket).toBe(directory.socket);
  expect(DurableDirectory.find(path).path).toBe(path);
});

it("is not made of a directory in which there is something else", () => {
  mkdirSync(path, { mode: 0o700 });
  writeFileSync(join(path, "mine"), "");
  expect(() => DurableDirectory.create(path)).toThrow("is not the directory of a durable server");
  expect(readdirSync(path)).toEqual(["mine"]);
});

it("is made of what another start has left, which had no space to write in", () => {
  mkdirSync(path, { mode: 0o700 });
  writeFileSync(join(path, "format.new"), "");
  expect(DurableDirectory.create(path).path).toBe(path);
  expect(readdirSync(path)).toEqual(["format"]);
});

it("belongs to one server at a time", () => {
  const release = DurableDirectory.create(path).claim();
  expect(() => DurableDirectory.find(path).claim()).toThrow("is in use by another server");
  release();
  DurableDirectory.find(path).claim()();
});

it("says so if it cannot be locked", () => {
  const directory = DurableDirectory.create(path);
  mkdirSync(join(path, "lock"));
  expect(() => directory.claim()).toThrow(`cannot lock ${path}: EISDIR`);
});

it.each([
  ["can be entered by other users", () => chmodSync(path, 0o750)],
  ["is not the directory of a durable server", () => rmSync(join(path, "format"))],
  ["or of another version", () => writeFileSync(join(path, "format"), "exec-server durable 2\n")],
  [
    "is not a directory",
    () => {
      rmSync(path, { recursive: true });
      mkdirSync(join(home, "other"), { mode: 0o700 });
      symlinkSync(join(home, "other"), path);
    },
  ],
])("is refused if it %s", (why, change) => {
  DurableDirectory.create(path);
  change();
  expect(() => DurableDirectory.find(path)).toThrow(UsageError);
  expect(() => DurableDirectory.find(path)).toThrow(why);
});

it.runIf(process.getuid?.() === 0)("is refused if it belongs to another user", () => {
  DurableDirectory.create(path);
  chownSync(path, 65_534, 65_534);
  expect(() => DurableDirectory.create(path)).toThrow("it belongs to another user");
});

it("is removed with its files, unless others are in it", () => {
  const directory = DurableDirectory.create(path);
  writeFileSync(directory.journal, "");
  mkdirSync(join(path, ".es-abc"));
  writeFileSync(join(path, ".es-abc", "s"), "");
  writeFileSync(join(path, "mine"), "");
  directory.remove();
  expect(readdirSync(path)).toEqual(["mine"]);
  rmSync(join(path, "mine"));
  directory.remove();
  expect(readdirSync(home)).toEqual([]);
});
