import {
  chmodSync,
  closeSync,
  mkdirSync,
  openSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { makeFifo } from "../../../test/fault/file-nodes.ts";
import { openAround, temporaryDirectory } from "../../../test/fixtures/temporary-directory.ts";
import { AllowedRoots } from "./allowed-roots.ts";
import { createDirectory, readDirectory, readDirectoryDetails } from "./directories.ts";
import { freeAccess } from "./file-access.ts";
import { ownLocation, Location } from "./location.ts";

let directory: string;
beforeEach(() => {
  directory = temporaryDirectory();
});
const at = (name: string): string => join(directory, name);

test("more entries than an answer can hold with details are refused, so that clients list them without", async () => {
  for (let index = 0; index <= 29_000; index++) closeSync(openSync(join(directory, `${index}`), "w"));
  const location = ownLocation(directory);
  await expect(readDirectoryDetails(location)).rejects.toMatchObject({ code: "UNSUPPORTED" });
  rmSync(join(directory, "0"));
  await expect(readDirectoryDetails(location)).resolves.toHaveLength(29_000);
}, 60_000);

describe("listing", () => {
  beforeEach(() => {
    mkdirSync(at("d"));
    writeFileSync(at("f"), "12345");
    chmodSync(at("f"), 0o4640);
    utimesSync(at("f"), 0, 1_700_000_000.75);
    makeFifo(at("pipe"));
    symlinkSync("d", at("to-d"));
    symlinkSync("f", at("to-f"));
    symlinkSync("none", at("to-none"));
    symlinkSync("/", at("to-top"));
    writeFileSync(Buffer.from(`${directory}/bytes-\xff`, "latin1"), "");
    symlinkSync("d", Buffer.from(`${directory}/link-\xff`, "latin1"));
    writeFileSync(at("looks-\u{fffd}"), "");
  });

  const byName = <T extends { fileName: string }>(entries: T[]): T[] =>
    entries.sort((left, right) => (left.fileName < right.fileName ? -1 : 1));
  const entry = (fileName: string, kind: "directory" | "file" | "other") => ({
    fileName,
    isDirectory: kind === "directory",
    isFile: kind === "file",
  });

  test.each([
    ["free", () => freeAccess, [entry("to-top", "directory")]],
    ["confined", () => new AllowedRoots([directory]), []],
  ])("says what entries are, or lead to: %s access", async (_, accessOf, above) => {
    const entries = await readDirectory(new Location(directory, accessOf()));
    expect(byName(entries)).toEqual([
      entry("bytes-\u{fffd}", "file"),
      entry("d", "directory"),
      entry("f", "file"),
      entry("link-\u{fffd}", "directory"),
      entry("looks-\u{fffd}", "file"),
      entry("pipe", "other"),
      entry("to-d", "directory"),
      entry("to-f", "file"),
      ...above,
    ]);
    expect(openAround(directory)).toEqual([]);
  });

  test("says what entries themselves are, with their details", async () => {
    const entries = byName(await readDirectoryDetails(new Location(at("to-d/.."), freeAccess)));
    expect(entries.map(({ fileName }) => fileName)).toEqual([
      "bytes-\u{fffd}",
      "d",
      "f",
      "link-\u{fffd}",
      "looks-\u{fffd}",
      "pipe",
      "to-d",
      "to-f",
      "to-none",
      "to-top",
    ]);
    expect(entries.find(({ fileName }) => fileName === "f")).toEqual({
      ...entry("f", "file"),
      isSymlink: false,
      mode: 0o4640,
      size: 5,
      modifiedAtMs: 1_700_000_000_750,
    });
    expect(entries.find(({ fileName }) => fileName === "to-d")).toMatchObject({
      ...entry("to-d", "other"),
      isSymlink: true,
    });
  });

  test("of what is no directory is an error", async () => {
    for (const list of [readDirectory, readDirectoryDetails]) {
      await expect(list(ownLocation(at("f")))).rejects.toMatchObject({ code: "ENOTDIR" });
      await expect(list(ownLocation(at("none")))).rejects.toMatchObject({ code: "ENOENT" });
    }
  });
});

describe("creating", () => {
  const create = async (name: string, options: { recursive?: boolean; followSymlinks?: boolean } = {}) =>
    createDirectory(ownLocation(at(name)), { recursive: false, followSymlinks: true, ...options });
  const isDirectory = (name: string): boolean => statSync(at(name)).isDirectory();

  test("makes a directory whose parent exists", async () => {
    await create("new");
    await create("new/inner", { followSymlinks: false });
    expect(isDirectory("new/inner")).toBe(true);
    await expect(create("new")).rejects.toMatchObject({ code: "EEXIST" });
    await expect(create("none/new")).rejects.toMatchObject({ code: "ENOENT" });
    await expect(create("new", { followSymlinks: false })).rejects.toThrow("File exists");
  });

  test("makes its parents on request, also behind a link, and is satisfied with what there is", async () => {
    mkdirSync(at("d"));
    writeFileSync(at("f"), "");
    symlinkSync("d", at("link"));
    symlinkSync("loop", at("loop"));
    symlinkSync("none", at("broken"));
    const recursive = true;
    for (const name of ["a/b/c", "a/b/c", "link", "link/x/y"]) await create(name, { recursive });
    expect([isDirectory("a/b/c"), isDirectory("d/x/y")]).toEqual([true, true]);
    for (const name of ["f", "broken", "loop"])
      await expect(create(name, { recursive }), name).rejects.toMatchObject({ code: "EEXIST" });
    await expect(create("f/x", { recursive })).rejects.toMatchObject({ code: "ENOTDIR" });
    await expect(create("link/new", { recursive, followSymlinks: false })).rejects.toThrow("Not a directory");
  });
});
