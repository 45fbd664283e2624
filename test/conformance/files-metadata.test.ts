import { stat, symlink, truncate, utimes, writeFile } from "node:fs/promises";
import { expect } from "vitest";
import {
  CONTAINS_LINK,
  fifo,
  LINK_LOOP,
  LONG_NAME,
  link,
  makeNames,
  NAME_TOO_LONG,
  NOT_A_DIRECTORY,
  NOT_FOUND,
  onTree,
  socket,
} from "./temp-tree.ts";
import { expectError, verifies } from "./verifies.ts";

const NOFOLLOW = { followSymlinks: false };
const META = "fs/getMetadata";
const REAL = "fs/canonicalize";
const LIST = "fs/readDirectory";

const FILE = { isDirectory: false, isFile: true, isSymlink: false };
const DIRECTORY = { isDirectory: true, isFile: false, isSymlink: false };
const SPECIAL = { isDirectory: false, isFile: false, isSymlink: false };
const LINK = { isSymlink: true };

verifies(
  "fs.getMetadata:file",
  onTree({ f: "hello" }, async ({ on, tree }) => {
    const { mtimeMs } = await stat(tree.path("f"));
    expect(await on(META, "f")).toEqual({
      ...FILE,
      size: 5,
      createdAtMs: expect.any(Number),
      modifiedAtMs: Math.floor(mtimeMs),
    });
  }),
);

verifies(
  "fs.getMetadata:directory",
  onTree({ d: { x: "" } }, async ({ on, tree }) => {
    const { size, mtimeMs } = await stat(tree.path("d"));
    const expected = { ...DIRECTORY, size, modifiedAtMs: Math.floor(mtimeMs) };
    expect(await on(META, "d")).toMatchObject(expected);
  }),
);

verifies(
  "fs.getMetadata:link",
  onTree(
    {
      f: "hello",
      d: {},
      file: link("f"),
      chain: link("file"),
      directory: link("d"),
      fifo,
      pipe: link("fifo"),
    },
    async ({ on, tree }) => {
      await utimes(tree.path("f"), 1_000_000_000, 1_000_000_000);
      const target = { ...FILE, ...LINK, size: 5, modifiedAtMs: 1_000_000_000_000 };
      expect(await on(META, "file")).toMatchObject(target);
      expect(await on(META, "chain")).toMatchObject(target);
      expect(await on(META, "directory")).toMatchObject({ ...DIRECTORY, ...LINK });
      expect(await on(META, "pipe")).toMatchObject({ ...SPECIAL, ...LINK });
    },
  ),
);

verifies(
  "fs.getMetadata:through-link",
  onTree({ d: { x: "1" }, ld: link("d") }, async ({ on }) => {
    expect(await on(META, "ld/x")).toMatchObject({ ...FILE, size: 1 });
  }),
);

verifies(
  "fs.getMetadata:null-options",
  onTree({ f: "", lf: link("f") }, async ({ on }) => {
    for (const followSymlinks of [null, true]) {
      expect(await on(META, "lf", { followSymlinks, sandbox: null })).toMatchObject({ ...FILE, ...LINK });
    }
  }),
);

verifies(
  "fs.getMetadata:special",
  onTree({ fifo, socket }, async ({ connection, on }) => {
    for (const more of [{}, NOFOLLOW]) {
      expect(await on(META, "fifo", more)).toMatchObject({ ...SPECIAL, size: 0 });
      expect(await on(META, "socket", more)).toMatchObject({ ...SPECIAL, size: 0 });
      expect(await connection.request(META, { path: "file:///dev/null", ...more })).toMatchObject(SPECIAL);
    }
  }),
);

verifies(
  "fs.getMetadata:large",
  onTree({ f: "" }, async ({ on, tree }) => {
    await truncate(tree.path("f"), 5_000_000_001);
    expect(await on(META, "f")).toMatchObject({ ...FILE, size: 5_000_000_001 });
    expect(await on(META, "f", NOFOLLOW)).toMatchObject({ ...FILE, size: 5_000_000_001 });
  }),
);

verifies(
  "fs.getMetadata:modified",
  onTree({ f: "", g: "" }, async ({ on, tree }) => {
    await utimes(tree.path("f"), 1, 1_580_702_706.7899);
    await utimes(tree.path("g"), 1, 4_105_310_706.001);
    for (const more of [{}, NOFOLLOW]) {
      expect(await on(META, "f", more)).toMatchObject({ modifiedAtMs: 1_580_702_706_789 });
    }
    const { mtimeMs } = await stat(tree.path("g"));
    expect(await on(META, "g")).toMatchObject({ modifiedAtMs: Math.floor(mtimeMs) });
  }),
);

verifies(
  "fs.getMetadata:before-1970",
  onTree({ f: "" }, async ({ on, tree }) => {
    // A negative number would mean now; a date is taken as it is.
    const before = new Date(-1_000_000);
    await utimes(tree.path("f"), before, before);
    expect((await stat(tree.path("f"))).mtimeMs).toBe(-1_000_000);
    expect(await on(META, "f", NOFOLLOW)).toMatchObject({ modifiedAtMs: -1_000_000 });
    expect(await on(META, "f")).toMatchObject({ modifiedAtMs: -1_000_000 });
  }),
);

verifies(
  "fs.getMetadata:created",
  onTree({ f: "" }, async ({ on, tree }) => {
    await utimes(tree.path("f"), 1, 1);
    const { birthtimeMs } = await stat(tree.path("f"));
    for (const more of [{}, NOFOLLOW]) {
      const { createdAtMs } = await on(META, "f", more);
      expect([0, Math.floor(birthtimeMs)]).toContain(createdAtMs);
    }
  }),
);

verifies(
  "fs.getMetadata:missing",
  onTree({ broken: link("nowhere") }, async ({ on }) => {
    for (const name of ["missing", "missing/x", "broken", "broken/x"]) {
      await expectError(on(META, name), ...NOT_FOUND);
    }
  }),
);

verifies(
  "fs.getMetadata:errors",
  onTree({ f: "", self: link("self") }, async ({ on }) => {
    await expectError(on(META, "f/x"), ...NOT_A_DIRECTORY);
    await expectError(on(META, "self"), ...LINK_LOOP);
    await expectError(on(META, LONG_NAME), ...NAME_TOO_LONG);
  }),
);

verifies(
  "fs.getMetadata.nofollow:plain",
  onTree({ d: { x: "12" } }, async ({ connection, on, tree }) => {
    const { mtimeMs } = await stat(tree.path("d/x"));
    expect(await on(META, "d/x", NOFOLLOW)).toEqual({
      ...FILE,
      size: 2,
      createdAtMs: expect.any(Number),
      modifiedAtMs: Math.floor(mtimeMs),
    });
    expect(await on(META, "d", NOFOLLOW)).toMatchObject(DIRECTORY);
    expect(await connection.request(META, { path: "file:///", ...NOFOLLOW })).toMatchObject(DIRECTORY);
  }),
);

verifies(
  "fs.getMetadata.nofollow:final-link",
  onTree(
    { f: "", d: {}, file: link("f"), directory: link("d"), nothing: link("nowhere"), self: link("self") },
    async ({ on }) => {
      for (const name of ["file", "directory", "nothing", "self"]) {
        await expectError(on(META, name, NOFOLLOW), ...CONTAINS_LINK);
      }
    },
  ),
);

verifies(
  "fs.getMetadata.nofollow:middle-link",
  onTree({ d: { x: "" }, ld: link("d") }, async ({ on }) => {
    await expectError(on(META, "ld/x", NOFOLLOW), ...NOT_A_DIRECTORY);
    await expectError(on(META, "ld/missing", NOFOLLOW), ...NOT_A_DIRECTORY);
  }),
);

verifies(
  "fs.getMetadata.nofollow:missing",
  onTree({ f: "" }, async ({ on }) => {
    await expectError(on(META, "missing", NOFOLLOW), ...NOT_FOUND);
    await expectError(on(META, "missing/x", NOFOLLOW), ...NOT_FOUND);
    await expectError(on(META, "f/x", NOFOLLOW), ...NOT_A_DIRECTORY);
  }),
);

verifies(
  "fs.canonicalize:plain",
  onTree({ f: "", d: { e: {} } }, async ({ on, tree }) => {
    for (const name of ["f", "d", "d/e", ""]) {
      expect(await on(REAL, name)).toEqual({ path: tree.uri(name) });
    }
  }),
);

verifies(
  "fs.canonicalize:links",
  onTree(
    { d: { x: "", up: link("../f") }, f: "", ld: link("d"), file: link("f"), chain: link("file") },
    async ({ on, tree }) => {
      for (const [name, target] of [
        ["file", "f"],
        ["chain", "f"],
        ["ld", "d"],
        ["ld/x", "d/x"],
        ["ld/up", "f"],
      ] as const) {
        expect(await on(REAL, name)).toEqual({ path: tree.uri(target) });
      }
    },
  ),
);

verifies(
  "fs.canonicalize:spelling",
  onTree({ d: { x: "" } }, async ({ connection, tree }) => {
    for (const path of [
      `${tree.uri("d")}/`,
      `${tree.uri("d")}//`,
      `${tree.uri("d")}/x/..`,
      `${tree.uri("missing")}/../d`,
      `${tree.uri()}/%64`,
      tree.uri("d").replace("file://", "file://localhost"),
      tree.uri("d").replace("file:", "FILE:"),
    ]) {
      expect(await connection.request(REAL, { path }), path).toEqual({ path: tree.uri("d") });
    }
  }),
);

verifies("fs.canonicalize:root", async ({ peer }) => {
  expect(await (await peer()).request(REAL, { path: "file:///" })).toEqual({ path: "file:///" });
});

/** Every mark of ASCII that a name may have, and how a path URI spells it. */
const MARKS = "!\"#$%&'()*+,-.:;<=>?@[\\]^_`{|}~";
const ESCAPED_MARKS = "!%22%23$%25&'()*+,-.:;%3C=%3E%3F@[%5C]^_%60%7B|%7D~";

verifies(
  "fs.canonicalize:escapes",
  onTree({ [`x${MARKS}`]: "", "sp é \u{1f600}": "", "tab\tline\n\u007f": "" }, async ({ on, tree }) => {
    for (const [name, escaped] of [
      [`x${MARKS}`, `x${ESCAPED_MARKS}`],
      ["sp é \u{1f600}", "sp%20%C3%A9%20%F0%9F%98%80"],
      ["tab\tline\n\u007f", "tab%09line%0A%7F"],
    ] as const) {
      expect(await on(REAL, name)).toEqual({ path: `${tree.uri()}/${escaped}` });
    }
  }),
);

verifies(
  "fs.canonicalize:special",
  onTree({ fifo, pipe: link("fifo") }, async ({ connection, on, tree }) => {
    expect(await on(REAL, "pipe")).toEqual({ path: tree.uri("fifo") });
    expect(await connection.request(REAL, { path: "file:///dev/null" })).toEqual({
      path: "file:///dev/null",
    });
  }),
);

verifies(
  "fs.canonicalize:missing",
  onTree({ broken: link("nowhere") }, async ({ on }) => {
    for (const name of ["missing", "missing/x", "broken"]) await expectError(on(REAL, name), ...NOT_FOUND);
  }),
);

verifies(
  "fs.canonicalize:errors",
  onTree({ f: "", self: link("self") }, async ({ on }) => {
    await expectError(on(REAL, "f/x"), ...NOT_A_DIRECTORY);
    await expectError(on(REAL, "self"), ...LINK_LOOP);
    await expectError(on(REAL, LONG_NAME), ...NAME_TOO_LONG);
  }),
);

const file = (fileName: string) => ({ fileName, isDirectory: false, isFile: true });
const directory = (fileName: string) => ({ fileName, isDirectory: true, isFile: false });
const special = (fileName: string) => ({ fileName, isDirectory: false, isFile: false });

/** The entries of a listing in our own order: the server guarantees none. */
function sorted(result: { entries: { fileName: string }[] }) {
  expect(Object.keys(result)).toEqual(["entries"]);
  return result.entries.toSorted((a, b) => (a.fileName < b.fileName ? -1 : 1));
}

verifies(
  "fs.readDirectory:entries",
  onTree({ a: "", b: { inner: "" }, ".hidden": "", ".d": {} }, async ({ on }) => {
    expect(sorted(await on(LIST, ""))).toEqual([directory(".d"), file(".hidden"), file("a"), directory("b")]);
  }),
);

verifies(
  "fs.readDirectory:empty",
  onTree({}, async ({ on }) => {
    expect(await on(LIST, "")).toEqual({ entries: [] });
  }),
);

verifies(
  "fs.readDirectory:links",
  onTree({ d: {}, f: "", ld: link("d"), lf: link("f"), llf: link("lf") }, async ({ on }) => {
    const expected = [directory("d"), file("f"), directory("ld"), file("lf"), file("llf")];
    expect(sorted(await on(LIST, ""))).toEqual(expected);
  }),
);

verifies(
  "fs.readDirectory:broken-links",
  onTree({ f: "", broken: link("nowhere"), self: link("self"), below: link("f/x") }, async ({ on }) => {
    expect(await on(LIST, "")).toEqual({ entries: [file("f")] });
  }),
);

verifies(
  "fs.readDirectory:special",
  onTree({ fifo, linked: link("fifo"), socket }, async ({ on }) => {
    expect(sorted(await on(LIST, ""))).toEqual([special("fifo"), special("linked"), special("socket")]);
  }),
);

verifies(
  "fs.readDirectory:names",
  onTree({ [`x${MARKS}`]: "", "sp é \u{1f600}": "", "tab\tline\n": "" }, async ({ on }) => {
    const expected = [file("sp é \u{1f600}"), file("tab\tline\n"), file(`x${MARKS}`)];
    expect(sorted(await on(LIST, ""))).toEqual(expected);
  }),
);

verifies(
  "fs.readDirectory:through-link",
  onTree({ d: { x: "" }, ld: link("d") }, async ({ on }) => {
    expect(await on(LIST, "ld")).toEqual({ entries: [file("x")] });
  }),
);

verifies(
  "fs.readDirectory:not-a-directory",
  onTree({ f: "", lf: link("f"), fifo }, async ({ on }) => {
    for (const name of ["f", "lf", "fifo", "f/x"]) await expectError(on(LIST, name), ...NOT_A_DIRECTORY);
  }),
);

verifies(
  "fs.readDirectory:missing",
  onTree({ broken: link("nowhere"), self: link("self") }, async ({ on }) => {
    for (const name of ["missing", "missing/x", "broken"]) await expectError(on(LIST, name), ...NOT_FOUND);
    await expectError(on(LIST, "self"), ...LINK_LOOP);
  }),
);

verifies(
  "fs.readDirectory:limit",
  onTree({}, async ({ connection, tree }) => {
    makeNames(tree.root, 50_000);
    await symlink("nowhere", tree.path("broken"));
    const list = () => connection.request(LIST, { path: tree.uri() }, { timeoutMs: 20_000 });
    const { entries } = await list();
    expect(new Set(entries.map((entry: { fileName: string }) => entry.fileName)).size).toBe(50_000);
    await writeFile(tree.path("more"), "");
    await expectError(list(), -32603, "fs/readDirectory returned 50001 entries; limit is 50000");
  }),
);
