import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { makeFifo } from "../../../test/fault/file-nodes.ts";
import { openAround, temporaryDirectory } from "../../../test/fixtures/temporary-directory.ts";
import { AllowedRoots } from "./allowed-roots.ts";
import { type FileAccess, freeAccess } from "./file-access.ts";
import { Location } from "./location.ts";
import { walk, type WalkOptions } from "./walk.ts";

const ALL: WalkOptions = {
  maxDepth: 64,
  maxDirectories: 10_000,
  maxEntries: 50_000,
  followDirectorySymlinks: false,
  pruneHiddenDirectories: false,
};

let directory: string;
beforeEach(() => {
  directory = temporaryDirectory();
  mkdirSync(at("top/b/inner/deep"), { recursive: true });
  mkdirSync(at("top/.hidden"));
  mkdirSync(at("outside"));
  for (const name of ["top/a", "top/b/f", "top/b/inner/deep/f", "top/.hidden/f", "outside/f"])
    writeFileSync(at(name), "");
  symlinkSync("../outside", at("top/out"));
  symlinkSync("a", at("top/to-a"));
  symlinkSync("none", at("top/broken"));
  makeFifo(at("top/pipe"));
});
const at = (name: string): string => join(directory, name);

interface Walked {
  entries: string[];
  errors: string[];
  truncated: boolean;
}

async function walked(
  options: Partial<WalkOptions> = {},
  { name = "top", access = freeAccess }: { name?: string; access?: FileAccess } = {},
): Promise<Walked> {
  const root = new Location(at(name), access);
  const { entries, errors, truncated } = await walk(root, { ...ALL, ...options });
  const shown = (location: Location): string => location.key.slice(root.key.length);
  expect(openAround(directory)).toEqual([]);
  return {
    entries: entries.map(({ location, kind }) => `${kind === "directory" ? "d" : "f"} ${shown(location)}`),
    errors: errors.map(({ location, message }) => `${shown(location)}: ${message}`),
    truncated,
  };
}

const EVERYTHING = [
  "d /.hidden",
  "f /a",
  "d /b",
  "f /.hidden/f",
  "f /b/f",
  "d /b/inner",
  "d /b/inner/deep",
  "f /b/inner/deep/f",
];

it.each([
  ["free", () => freeAccess],
  ["confined", () => new AllowedRoots([directory])],
])("lists a tree level by level, sorted, with neither links nor pipes: %s access", async (_, accessOf) => {
  await expect(walked({}, { access: accessOf() })).resolves.toEqual({
    entries: EVERYTHING,
    errors: [],
    truncated: false,
  });
});

it("keeps to a depth, and leaves hidden directories out on request", async () => {
  expect((await walked({ maxDepth: 0 })).entries).toEqual(["d /.hidden", "f /a", "d /b"]);
  expect((await walked({ maxDepth: 1 })).entries).toEqual(EVERYTHING.slice(0, 6));
  expect((await walked({ pruneHiddenDirectories: true })).entries).toEqual(
    EVERYTHING.filter((entry) => entry !== "f /.hidden/f"),
  );
});

describe("links to directories", () => {
  const followDirectorySymlinks = true;

  it("are followed on request, each directory once", async () => {
    symlinkSync("../..", at("top/b/up"));
    symlinkSync("b", at("top/again"));
    const { entries, errors } = await walked({ followDirectorySymlinks });
    expect(entries).toEqual([
      "d /.hidden",
      "f /a",
      "d /again",
      "d /b",
      "d /out",
      "f /.hidden/f",
      "f /again/f",
      "d /again/inner",
      "d /again/up",
      "f /out/f",
      "d /again/inner/deep",
      "d /again/up/outside",
      "d /again/up/top",
      "f /again/inner/deep/f",
    ]);
    expect(errors).toEqual([]);
  });

  it("are not followed out of the roots", async () => {
    const access = new AllowedRoots([at("top")]);
    expect((await walked({ followDirectorySymlinks }, { access })).entries).toEqual(EVERYTHING);
  });

  it("are followed at the top only on request", async () => {
    symlinkSync("b", at("top/start"));
    expect((await walked({}, { name: "top/start" })).entries).toEqual([]);
    expect((await walked({ followDirectorySymlinks }, { name: "top/start" })).entries).toEqual([
      "f /f",
      "d /inner",
      "d /inner/deep",
      "f /inner/deep/f",
    ]);
  });
});

it("has nothing to list in a file, and says that a path leads nowhere", async () => {
  await expect(walked({}, { name: "top/a" })).resolves.toEqual({ entries: [], errors: [], truncated: false });
  await expect(walked({}, { name: "none" })).rejects.toMatchObject({ code: "ENOENT" });
  await expect(walked({}, { name: "top/broken" })).rejects.toMatchObject({ code: "ENOENT" });
});

describe("a limit", () => {
  it("of entries counts what was looked at, and truncates", async () => {
    // The two links that lead somewhere, and the pipe, count.
    await expect(walked({ maxEntries: 3 })).resolves.toEqual({
      entries: EVERYTHING.slice(0, 3),
      errors: [],
      truncated: true,
    });
    expect(await walked({ maxEntries: 10 })).toMatchObject({ truncated: true });
    expect(await walked({ maxEntries: 11 })).toMatchObject({ entries: EVERYTHING, truncated: false });
  });

  it("of directories truncates before one more", async () => {
    expect(await walked({ maxDirectories: 1 })).toEqual({
      entries: EVERYTHING.slice(0, 3),
      errors: [],
      truncated: true,
    });
    expect(await walked({ maxDirectories: 4 })).toMatchObject({ truncated: true });
    expect(await walked({ maxDirectories: 5 })).toMatchObject({ entries: EVERYTHING, truncated: false });
  });

  it("must be neither zero nor above the maximum", async () => {
    for (const options of [{ maxDirectories: 0 }, { maxEntries: 0 }])
      await expect(walked(options)).rejects.toThrow("must be greater than zero");
    for (const options of [{ maxDepth: 65 }, { maxDirectories: 10_001 }, { maxEntries: 50_001 }])
      await expect(walked(options)).rejects.toThrow("exceed maximums: depth=64");
  });

  it("of the answer's size truncates", async () => {
    const long = "x".repeat(250);
    const deep = Array.from({ length: 10 }, () => long).join("/");
    rmSync(at("top"), { recursive: true });
    mkdirSync(at(`top/${deep}`), { recursive: true });
    for (let index = 0; index < 1_700; index += 1) symlinkSync("/", at(`top/${deep}/${index}`));
    const { entries, truncated } = await walked({ followDirectorySymlinks: true, maxDepth: 10 });
    expect(truncated).toBe(true);
    const bytes = entries.length * (at(`top/${deep}`).length + 64);
    expect(bytes).toBeGreaterThan(3.9 * 1024 * 1024);
    expect(bytes).toBeLessThan(4.1 * 1024 * 1024);
  });
});

it.skipIf(process.geteuid?.() === 0)("reports a directory that cannot be read, and continues", async () => {
  chmodSync(at("top/b"), 0o000);
  const { entries, errors, truncated } = await walked();
  chmodSync(at("top/b"), 0o700);
  expect(entries).toEqual(EVERYTHING.slice(0, 4));
  expect([errors, truncated]).toEqual([["/b: Permission denied (os error 13)"], false]);
});

it("lists names that are not text", async () => {
  mkdirSync(Buffer.from(`${at("outside")}/\xff`, "latin1"));
  writeFileSync(Buffer.from(`${at("outside")}/\xff/f`, "latin1"), "");
  for (const followDirectorySymlinks of [false, true])
    expect((await walked({ followDirectorySymlinks }, { name: "outside" })).entries).toEqual([
      "f /f",
      "d /\xff",
      "f /\xff/f",
    ]);
});
