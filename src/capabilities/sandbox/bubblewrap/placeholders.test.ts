import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { Placeholders } from "./placeholders.ts";

let directory: string;
const at = (name: string): string => join(directory, name);

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "placeholders-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

it("exist as long as a sandbox needs them", () => {
  const placeholders = new Placeholders();
  const first = placeholders.hold([at("a"), at("b")], []);
  const second = placeholders.hold([at("a")], [at("b")]);
  first();
  expect([existsSync(at("a")), existsSync(at("b"))]).toEqual([true, true]);
  second();
  expect([existsSync(at("a")), existsSync(at("b"))]).toEqual([false, false]);
});

it("are made again if somebody has removed them", () => {
  const placeholders = new Placeholders();
  const first = placeholders.hold([at("a")], []);
  rmdirSync(at("a"));
  const second = placeholders.hold([at("a")], []);
  first();
  expect(existsSync(at("a"))).toBe(true);
  second();
  expect(existsSync(at("a"))).toBe(false);
});

it("stay if they have become somebody else's: something is in them, or they existed before", () => {
  const placeholders = new Placeholders();
  mkdirSync(at("old"));
  const release = placeholders.hold([at("a"), at("old")], []);
  writeFileSync(at("a/f"), "");
  release();
  expect([existsSync(at("a")), existsSync(at("old"))]).toEqual([true, true]);
});

it("are not removed where a link leads that has taken the place of their directory", () => {
  const placeholders = new Placeholders();
  for (const name of ["in", "out", "out/a"]) mkdirSync(at(name));
  const release = placeholders.hold([at("in/a")], []);
  renameSync(at("in"), at("moved"));
  symlinkSync("out", at("in"));
  release();
  expect(existsSync(at("out/a"))).toBe(true);
});

it("that cannot be created are refused by their name, and those before them are gone", () => {
  const placeholders = new Placeholders();
  expect(() => placeholders.hold([at("first"), at("missing/a")], [])).toThrow(
    `a sandbox cannot reserve the name ${at("missing/a")}: ENOENT`,
  );
  expect(existsSync(at("first"))).toBe(false);
});
