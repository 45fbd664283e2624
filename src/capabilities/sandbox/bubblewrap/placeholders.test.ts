import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { Placeholders } from "./placeholders.ts";

let directory: string;
const at = (name: string): string => join(directory, name);

const view = (names: Partial<Record<"absent" | "absentFile" | "readOnly" | "hiddenFile", string[]>>) => ({
  mounts: Object.entries(names).flatMap(([kind, all]) =>
    all.map((name) => ({ kind: kind as keyof typeof names, path: at(name) })),
  ),
});

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "placeholders-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

it("exist as long as a sandbox needs them", () => {
  const placeholders = new Placeholders();
  const first = placeholders.hold(view({ absent: ["a", "b"] }));
  const second = placeholders.hold(view({ absent: ["a"], readOnly: ["b"] }));
  first();
  expect([existsSync(at("a")), existsSync(at("b"))]).toEqual([true, true]);
  second();
  expect([existsSync(at("a")), existsSync(at("b"))]).toEqual([false, false]);
});

it("are made again if somebody has removed them", () => {
  const placeholders = new Placeholders();
  const first = placeholders.hold(view({ absent: ["a"] }));
  rmdirSync(at("a"));
  const second = placeholders.hold(view({ absent: ["a"] }));
  first();
  expect(existsSync(at("a"))).toBe(true);
  second();
  expect(existsSync(at("a"))).toBe(false);
});

it("stay if they have become somebody else's: something is in them, or they existed before", () => {
  const placeholders = new Placeholders();
  mkdirSync(at("old"));
  const release = placeholders.hold(view({ absent: ["a", "old"] }));
  writeFileSync(at("a/f"), "");
  release();
  expect([existsSync(at("a")), existsSync(at("old"))]).toEqual([true, true]);
});

it("are not removed where a link leads that has taken the place of their directory", () => {
  const placeholders = new Placeholders();
  for (const name of ["in", "out", "out/a"]) mkdirSync(at(name));
  const release = placeholders.hold(view({ absent: ["in/a"] }));
  renameSync(at("in"), at("moved"));
  symlinkSync("out", at("in"));
  release();
  expect(existsSync(at("out/a"))).toBe(true);
});

it("that cannot be created are refused by their name, and those before them are gone", () => {
  const placeholders = new Placeholders();
  expect(() => placeholders.hold(view({ absent: ["first", "missing/a"] }))).toThrow(
    `a sandbox cannot reserve the name ${at("missing/a")}: ENOENT`,
  );
  expect(existsSync(at("first"))).toBe(false);
});

it("for files are files, which disappear unless somebody has written them", () => {
  const placeholders = new Placeholders();
  const first = placeholders.hold(view({ absentFile: ["kept", "log", "token"] }));
  expect(statSync(at("token")).mode & 0o7777).toBe(0o600);
  const second = placeholders.hold(view({ hiddenFile: ["kept"] }));
  writeFileSync(at("log"), "a line\n");
  writeFileSync(at("new"), "");
  renameSync(at("new"), at("token"));
  first();
  expect(readdirSync(directory).toSorted()).toEqual(["kept", "log", "token"]);
  second();
  expect(readdirSync(directory).toSorted()).toEqual(["log", "token"]);
});
