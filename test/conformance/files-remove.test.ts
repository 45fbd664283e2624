import { lstat, readdir, readFile } from "node:fs/promises";
import { expect } from "vitest";
import {
  CONTAINS_LINK,
  fifo,
  LONG_NAME,
  link,
  NAME_TOO_LONG,
  NOT_A_DIRECTORY,
  NOT_EMPTY,
  NOT_FOUND,
  onTree,
  socket,
  type TempTree,
} from "./temp-tree.ts";
import { expectError, verifies } from "./verifies.ts";

const REMOVE = "fs/remove";
const SINGLE = { recursive: false };
const UNFORCED = { force: false };
const NOFOLLOW = { followSymlinks: false, recursive: false };

const namesOf = async (tree: TempTree, name = "") => (await readdir(tree.path(name))).toSorted();

verifies(
  "fs.remove:default",
  onTree({ f: "", d: { x: "", e: { y: "" } }, empty: {}, kept: "" }, async ({ on, tree }) => {
    for (const name of ["f", "d", "empty", "missing"]) expect(await on(REMOVE, name)).toEqual({});
    expect(await namesOf(tree)).toEqual(["kept"]);
  }),
);

verifies(
  "fs.remove:null-options",
  onTree({ d: { x: "" } }, async ({ on, tree }) => {
    const nulls = { recursive: null, force: null, followSymlinks: null, sandbox: null };
    expect(await on(REMOVE, "d", nulls)).toEqual({});
    expect(await on(REMOVE, "missing", nulls)).toEqual({});
    expect(await namesOf(tree)).toEqual([]);
  }),
);

verifies(
  "fs.remove:link",
  onTree({ f: "kept", d: { x: "kept" } }, async ({ connection, on, tree }) => {
    for (const more of [{}, SINGLE, UNFORCED, { followSymlinks: true }]) {
      for (const target of ["f", "d", "nowhere", "link"]) {
        await link(target)(tree.path("link"));
        expect(await on(REMOVE, "link", more)).toEqual({});
        await expect(lstat(tree.path("link"))).rejects.toMatchObject({ code: "ENOENT" });
      }
    }
    await link("d")(tree.path("link"));
    await connection.request(REMOVE, { path: `${tree.uri("link")}/` });
    expect(await namesOf(tree)).toEqual(["d", "f"]);
    expect(await namesOf(tree, "d")).toEqual(["x"]);
  }),
);

verifies(
  "fs.remove:links-inside",
  onTree(
    {
      d: { e: { up: link("../../kept"), file: link("../../kept/x"), self: link(".") } },
      kept: { x: "kept" },
    },
    async ({ on, tree }) => {
      expect(await on(REMOVE, "d")).toEqual({});
      expect(await namesOf(tree)).toEqual(["kept"]);
      expect(await readFile(tree.path("kept/x"), "utf8")).toBe("kept");
    },
  ),
);

verifies(
  "fs.remove:through-link",
  onTree({ d: { x: "", e: { y: "" }, kept: "" }, ld: link("d") }, async ({ on, tree }) => {
    await on(REMOVE, "ld/x");
    await on(REMOVE, "ld/e");
    expect(await namesOf(tree, "d")).toEqual(["kept"]);
  }),
);

verifies(
  "fs.remove:special",
  onTree({ fifo, socket, d: { fifo } }, async ({ on, tree }) => {
    for (const name of ["fifo", "socket", "d"]) expect(await on(REMOVE, name)).toEqual({});
    expect(await namesOf(tree)).toEqual([]);
  }),
);

verifies(
  "fs.remove:single",
  onTree({ f: "", empty: {}, d: { x: "" } }, async ({ on, tree }) => {
    expect(await on(REMOVE, "f", SINGLE)).toEqual({});
    expect(await on(REMOVE, "empty", SINGLE)).toEqual({});
    await expectError(on(REMOVE, "d", SINGLE), ...NOT_EMPTY);
    await expectError(on(REMOVE, "d", { ...SINGLE, ...UNFORCED }), ...NOT_EMPTY);
    expect(await namesOf(tree)).toEqual(["d"]);
    expect(await namesOf(tree, "d")).toEqual(["x"]);
  }),
);

verifies(
  "fs.remove:force",
  onTree({}, async ({ on }) => {
    for (const name of ["missing", "missing/x"]) {
      for (const recursive of [true, false]) {
        expect(await on(REMOVE, name, { recursive, force: true })).toEqual({});
        await expectError(on(REMOVE, name, { recursive, force: false }), ...NOT_FOUND);
      }
    }
  }),
);

verifies(
  "fs.remove:below-file",
  onTree({ f: "kept" }, async ({ on, tree }) => {
    for (const more of [{}, SINGLE, UNFORCED, NOFOLLOW]) {
      await expectError(on(REMOVE, "f/x", more), ...NOT_A_DIRECTORY);
    }
    expect(await namesOf(tree)).toEqual(["f"]);
  }),
);

verifies(
  "fs.remove:name-too-long",
  onTree({}, async ({ on }) => {
    await expectError(on(REMOVE, LONG_NAME), ...NAME_TOO_LONG);
  }),
);

verifies(
  "fs.remove.nofollow:recursive",
  onTree({ f: "", d: { x: "" }, lf: link("f") }, async ({ on, tree }) => {
    const message = "recursive no-follow removal is unsupported";
    for (const name of ["f", "d", "lf", "missing", "f/x"]) {
      await expectError(on(REMOVE, name, { followSymlinks: false }), -32603, message);
    }
    const more = { followSymlinks: false, recursive: true, force: false };
    await expectError(on(REMOVE, "f", more), -32603, message);
    expect(await namesOf(tree)).toEqual(["d", "f", "lf"]);
    expect(await namesOf(tree, "d")).toEqual(["x"]);
  }),
);

verifies(
  "fs.remove.nofollow:plain",
  onTree({ f: "", d: { x: "", e: {} }, full: { x: "" }, fifo }, async ({ on, tree }) => {
    for (const name of ["f", "d/x", "d/e", "d", "fifo"]) {
      expect(await on(REMOVE, name, NOFOLLOW)).toEqual({});
    }
    await expectError(on(REMOVE, "full", NOFOLLOW), ...NOT_EMPTY);
    expect(await namesOf(tree)).toEqual(["full"]);
  }),
);

verifies(
  "fs.remove.nofollow:final-link",
  onTree(
    { f: "", d: {}, file: link("f"), directory: link("d"), nothing: link("nowhere"), self: link("self") },
    async ({ on, tree }) => {
      for (const name of ["file", "directory", "nothing", "self"]) {
        await expectError(on(REMOVE, name, NOFOLLOW), ...CONTAINS_LINK);
        await expectError(on(REMOVE, name, { ...NOFOLLOW, ...UNFORCED }), ...CONTAINS_LINK);
      }
      expect(await namesOf(tree)).toHaveLength(6);
    },
  ),
);

verifies(
  "fs.remove.nofollow:middle-link",
  onTree({ d: { x: "" }, ld: link("d") }, async ({ on, tree }) => {
    await expectError(on(REMOVE, "ld/x", NOFOLLOW), ...NOT_A_DIRECTORY);
    await expectError(on(REMOVE, "ld/missing", NOFOLLOW), ...NOT_A_DIRECTORY);
    expect(await namesOf(tree, "d")).toEqual(["x"]);
  }),
);

verifies(
  "fs.remove.nofollow:missing",
  onTree({}, async ({ on }) => {
    for (const name of ["missing", "missing/x"]) {
      expect(await on(REMOVE, name, NOFOLLOW)).toEqual({});
      await expectError(on(REMOVE, name, { ...NOFOLLOW, ...UNFORCED }), ...NOT_FOUND);
    }
  }),
);
