import { lstat, readdir, readFile, stat } from "node:fs/promises";
import { expect } from "vitest";
import {
  AT_ONCE_MS,
  EXISTS,
  fifo,
  fileOfMode,
  IS_A_DIRECTORY,
  LINK_LOOP,
  LONG_NAME,
  link,
  linkedTo,
  NAME_TOO_LONG,
  NAMES_NO_ENTRY,
  NO_DEVICE,
  NOT_A_DIRECTORY,
  NOT_FOUND,
  NOT_REGULAR,
  onTree,
  releaseWriters,
  type TreeContext,
} from "./temp-tree.ts";
import { base64, expectError, verifies } from "./verifies.ts";

const NOFOLLOW = { followSymlinks: false };
const SINGLE = { recursive: false };
const MAKE = "fs/createDirectory";

/** Writes a name of the tree through the server. */
function write({ on }: TreeContext, name: string, data: string | Uint8Array, more = {}) {
  return on("fs/writeFile", name, { dataBase64: base64(data), ...more });
}

const contents = ({ tree }: TreeContext, name: string) => readFile(tree.path(name), "utf8");

async function modeOf({ tree }: TreeContext, name: string): Promise<number> {
  return (await stat(tree.path(name))).mode & 0o7777;
}

verifies(
  "fs.writeFile:creates",
  onTree({}, async (context) => {
    expect(await write(context, "f", "hello")).toEqual({});
    expect(await contents(context, "f")).toBe("hello");
    expect(await modeOf(context, "f")).toBe(0o666 & ~process.umask());
  }),
);

verifies(
  "fs.writeFile:replaces",
  onTree({ f: fileOfMode("long contents", 0o640), hard: linkedTo("f") }, async (context) => {
    await write(context, "f", "new");
    expect(await contents(context, "f")).toBe("new");
    expect(await contents(context, "hard")).toBe("new");
    expect(await modeOf(context, "f")).toBe(0o640);
  }),
);

verifies(
  "fs.writeFile:empty",
  onTree({ f: "contents" }, async (context) => {
    await write(context, "f", "");
    await write(context, "g", "");
    expect([await contents(context, "f"), await contents(context, "g")]).toEqual(["", ""]);
  }),
);

verifies(
  "fs.writeFile:all-bytes",
  onTree({}, async (context) => {
    const bytes = Uint8Array.from({ length: 256 }, (_, value) => value);
    await write(context, "f", bytes);
    await write(context, "g", bytes, NOFOLLOW);
    expect(new Uint8Array(await readFile(context.tree.path("f")))).toEqual(bytes);
    expect(new Uint8Array(await readFile(context.tree.path("g")))).toEqual(bytes);
  }),
);

verifies(
  "fs.writeFile:large",
  onTree({}, async ({ connection, tree }) => {
    const bytes = Buffer.alloc(8 * 1024 * 1024, "0123456789abcdef!");
    const params = { path: tree.uri("f"), dataBase64: base64(bytes) };
    expect(await connection.request("fs/writeFile", params, { timeoutMs: 20_000 })).toEqual({});
    expect((await readFile(tree.path("f"))).equals(bytes)).toBe(true);
  }),
);

verifies(
  "fs.writeFile:link",
  onTree({ d: { f: "contents" }, lf: link("d/f"), ld: link("d"), broken: link("new") }, async (context) => {
    for (const more of [{}, { followSymlinks: null }, { followSymlinks: true }]) {
      const data = JSON.stringify(more);
      for (const [name, target] of [
        ["lf", "d/f"],
        ["ld/g", "d/g"],
        ["broken", "new"],
      ] as const) {
        await write(context, name, data, more);
        expect(await contents(context, target)).toBe(data);
      }
    }
    for (const name of ["lf", "broken"]) {
      expect((await lstat(context.tree.path(name))).isSymbolicLink()).toBe(true);
    }
  }),
);

verifies("fs.writeFile:device", async ({ peer }) => {
  const params = { path: "file:///dev/null", dataBase64: base64("gone") };
  expect(await (await peer()).request("fs/writeFile", params)).toEqual({});
});

verifies(
  "fs.writeFile:fifo",
  onTree({ fifo }, async ({ connection, tree }) => {
    const params = { path: tree.uri("fifo"), dataBase64: base64("x") };
    const written = connection.request("fs/writeFile", params, { timeoutMs: AT_ONCE_MS });
    try {
      await expectError(written, ...NO_DEVICE);
    } finally {
      await releaseWriters(tree.path("fifo"));
    }
  }),
);

verifies(
  "fs.writeFile:missing-parent",
  onTree({}, async (context) => {
    await expectError(write(context, "missing/x", "x"), ...NOT_FOUND);
    expect(await readdir(context.tree.root)).toEqual([]);
  }),
);

verifies(
  "fs.writeFile:directory",
  onTree({ d: {}, ld: link("d") }, async (context) => {
    await expectError(write(context, "d", "x"), ...IS_A_DIRECTORY);
    await expectError(write(context, "ld", "x"), ...IS_A_DIRECTORY);
  }),
);

verifies(
  "fs.writeFile:errors",
  onTree({ f: "contents", self: link("self") }, async (context) => {
    await expectError(write(context, "f/x", "x"), ...NOT_A_DIRECTORY);
    await expectError(write(context, "self", "x"), ...LINK_LOOP);
    await expectError(write(context, LONG_NAME, "x"), ...NAME_TOO_LONG);
    expect(await contents(context, "f")).toBe("contents");
  }),
);

verifies(
  "fs.writeFile:base64",
  onTree({}, async ({ on }) => {
    for (const [dataBase64, reason] of [
      ["A", "Invalid input length: 1"],
      ["AA", "Invalid padding"],
      ["AA=", "Invalid padding"],
      ["*AAA", "Invalid symbol 42, offset 0."],
      ["_-8=", "Invalid symbol 95, offset 0."],
      ["QQ==\n", "Invalid symbol 10, offset 4."],
      ["QR==", "Invalid last symbol 82, offset 1."],
    ] as const) {
      const message = `fs/writeFile requires valid base64 dataBase64: ${reason}`;
      await expectError(on("fs/writeFile", "f", { dataBase64 }), -32600, message);
    }
  }),
);

verifies(
  "fs.writeFile:base64-no-effect",
  onTree({ f: "contents" }, async (context) => {
    const refused = (path: string) =>
      expectError(
        context.connection.request("fs/writeFile", { path, dataBase64: "A" }),
        -32600,
        /^fs\/writeFile requires valid base64 dataBase64: /,
      );
    await refused(context.tree.uri("f"));
    await refused(context.tree.uri("new"));
    await refused(context.tree.uri("missing/x"));
    await refused("file:///C:/x");
    expect(await readdir(context.tree.root)).toEqual(["f"]);
    expect(await contents(context, "f")).toBe("contents");
  }),
);

verifies(
  "fs.writeFile.nofollow:plain",
  onTree({ f: fileOfMode("long contents", 0o640), d: {} }, async (context) => {
    expect(await write(context, "f", "old", NOFOLLOW)).toEqual({});
    expect(await write(context, "d/new", "new", NOFOLLOW)).toEqual({});
    expect(await contents(context, "f")).toBe("old");
    expect(await contents(context, "d/new")).toBe("new");
    expect(await modeOf(context, "f")).toBe(0o640);
    expect(await modeOf(context, "d/new")).toBe(0o666 & ~process.umask());
  }),
);

verifies(
  "fs.writeFile.nofollow:final-link",
  onTree(
    { f: "contents", lf: link("f"), d: {}, ld: link("d"), broken: link("new"), self: link("self") },
    async (context) => {
      for (const name of ["lf", "ld", "broken", "self"]) {
        await expectError(write(context, name, "x", NOFOLLOW), ...LINK_LOOP);
      }
      expect(await contents(context, "f")).toBe("contents");
      expect((await readdir(context.tree.root)).toSorted()).toEqual(["broken", "d", "f", "ld", "lf", "self"]);
    },
  ),
);

verifies(
  "fs.writeFile.nofollow:middle-link",
  onTree({ d: { f: "contents" }, ld: link("d") }, async (context) => {
    await expectError(write(context, "ld/f", "x", NOFOLLOW), ...NOT_A_DIRECTORY);
    await expectError(write(context, "ld/new", "x", NOFOLLOW), ...NOT_A_DIRECTORY);
    expect(await readdir(context.tree.path("d"))).toEqual(["f"]);
    expect(await contents(context, "d/f")).toBe("contents");
  }),
);

verifies(
  "fs.writeFile.nofollow:refused",
  onTree({ d: {}, fifo }, async (context) => {
    const request = (path: string) =>
      context.connection.request("fs/writeFile", { path, dataBase64: "", ...NOFOLLOW });
    await expectError(write(context, "d", "x", NOFOLLOW), ...IS_A_DIRECTORY);
    await expectError(write(context, "fifo", "x", NOFOLLOW), ...NO_DEVICE);
    await expectError(request("file:///dev/null"), ...NOT_REGULAR);
    await expectError(request("file:///"), ...NAMES_NO_ENTRY);
  }),
);

verifies(
  "fs.writeFile.nofollow:missing-parent",
  onTree({ f: "" }, async (context) => {
    await expectError(write(context, "missing/x", "x", NOFOLLOW), ...NOT_FOUND);
    await expectError(write(context, "f/x", "x", NOFOLLOW), ...NOT_A_DIRECTORY);
  }),
);

verifies(
  "fs.createDirectory:default",
  onTree({ d: {} }, async ({ on, tree }) => {
    expect(await on(MAKE, "a/b/c")).toEqual({});
    expect(await on(MAKE, "d/e/f", { recursive: null, followSymlinks: null })).toEqual({});
    expect(await on(MAKE, "d/g/h", { recursive: true, followSymlinks: true })).toEqual({});
    for (const name of ["a/b/c", "d/e/f", "d/g/h"]) {
      expect((await stat(tree.path(name))).isDirectory()).toBe(true);
    }
  }),
);

verifies(
  "fs.createDirectory:mode",
  onTree({}, async (context) => {
    await context.on(MAKE, "a/b");
    await context.on(MAKE, "single", SINGLE);
    await context.on(MAKE, "plain", NOFOLLOW);
    const modes = await Promise.all(["a", "a/b", "single", "plain"].map((name) => modeOf(context, name)));
    expect(modes).toEqual(Array.from({ length: 4 }, () => 0o777 & ~process.umask()));
  }),
);

verifies(
  "fs.createDirectory:existing",
  onTree({ d: { x: "kept" }, ld: link("d") }, async ({ on, tree }) => {
    for (const name of ["d", "ld"]) {
      expect(await on(MAKE, name)).toEqual({});
      await expectError(on(MAKE, name, SINGLE), ...EXISTS);
    }
    expect(await readdir(tree.path("d"))).toEqual(["x"]);
  }),
);

verifies(
  "fs.createDirectory:single",
  onTree({ d: {} }, async ({ on, tree }) => {
    expect(await on(MAKE, "d/new", SINGLE)).toEqual({});
    expect(await readdir(tree.path("d"))).toEqual(["new"]);
    await expectError(on(MAKE, "missing/x", SINGLE), ...NOT_FOUND);
    expect(await readdir(tree.root)).toEqual(["d"]);
  }),
);

verifies(
  "fs.createDirectory:in-the-way",
  onTree(
    { f: "", lf: link("f"), fifo, broken: link("nowhere"), self: link("self") },
    async ({ on, tree }) => {
      for (const name of ["f", "lf", "fifo", "broken", "self"]) {
        await expectError(on(MAKE, name), ...EXISTS);
        await expectError(on(MAKE, name, SINGLE), ...EXISTS);
      }
      expect(await readdir(tree.root)).toHaveLength(5);
    },
  ),
);

verifies(
  "fs.createDirectory:below-file",
  onTree({ f: "" }, async ({ on }) => {
    await expectError(on(MAKE, "f/x"), ...NOT_A_DIRECTORY);
    await expectError(on(MAKE, "f/x/y"), ...NOT_A_DIRECTORY);
    await expectError(on(MAKE, "f/x", SINGLE), ...NOT_A_DIRECTORY);
  }),
);

verifies(
  "fs.createDirectory:link",
  onTree({ d: {}, ld: link("d") }, async ({ on, tree }) => {
    await on(MAKE, "ld/a/b");
    await on(MAKE, "ld/c", SINGLE);
    expect((await readdir(tree.path("d"))).toSorted()).toEqual(["a", "c"]);
  }),
);

verifies(
  "fs.createDirectory:below-broken-link",
  onTree({ broken: link("nowhere"), self: link("self") }, async ({ on, tree }) => {
    await expectError(on(MAKE, "broken/x"), ...EXISTS);
    await expectError(on(MAKE, "broken/x", SINGLE), ...NOT_FOUND);
    await expectError(on(MAKE, "self/x"), ...LINK_LOOP);
    expect((await readdir(tree.root)).toSorted()).toEqual(["broken", "self"]);
  }),
);

verifies(
  "fs.createDirectory:name-too-long",
  onTree({}, async ({ on }) => {
    await expectError(on(MAKE, LONG_NAME), ...NAME_TOO_LONG);
    await expectError(on(MAKE, LONG_NAME, SINGLE), ...NAME_TOO_LONG);
  }),
);

verifies("fs.createDirectory:root", async ({ peer }) => {
  const connection = await peer();
  const make = (more = {}) => connection.request(MAKE, { path: "file:///", ...more });
  expect(await make()).toEqual({});
  expect(await make(NOFOLLOW)).toEqual({});
  await expectError(make(SINGLE), ...EXISTS);
  await expectError(make({ ...SINGLE, ...NOFOLLOW }), -32603, "directory already exists");
});

verifies(
  "fs.createDirectory.nofollow:plain",
  onTree({ d: { x: "kept" } }, async ({ on, tree }) => {
    expect(await on(MAKE, "d", NOFOLLOW)).toEqual({});
    expect(await on(MAKE, "d/a/b", NOFOLLOW)).toEqual({});
    expect(await on(MAKE, "d/c", { ...NOFOLLOW, ...SINGLE })).toEqual({});
    expect((await readdir(tree.path("d"))).toSorted()).toEqual(["a", "c", "x"]);
    expect(await readdir(tree.path("d/a"))).toEqual(["b"]);
  }),
);

verifies(
  "fs.createDirectory.nofollow:middle-link",
  onTree({ d: {}, ld: link("d"), f: "", broken: link("nowhere") }, async ({ on, tree }) => {
    for (const name of ["ld/x", "f/x", "broken/x"]) {
      await expectError(on(MAKE, name, NOFOLLOW), ...NOT_A_DIRECTORY);
      await expectError(on(MAKE, name, { ...NOFOLLOW, ...SINGLE }), ...NOT_A_DIRECTORY);
    }
    expect(await readdir(tree.path("d"))).toEqual([]);
    expect(await readdir(tree.root)).toHaveLength(4);
  }),
);

verifies(
  "fs.createDirectory.nofollow:final-link",
  onTree({ d: {}, ld: link("d"), f: "", lf: link("f"), broken: link("nowhere") }, async ({ on }) => {
    for (const name of ["ld", "f", "lf", "broken"]) {
      await expectError(on(MAKE, name, NOFOLLOW), ...NOT_A_DIRECTORY);
      await expectError(on(MAKE, name, { ...NOFOLLOW, ...SINGLE }), ...EXISTS);
    }
  }),
);

verifies(
  "fs.createDirectory.nofollow:single",
  onTree({ d: {} }, async ({ on, tree }) => {
    await expectError(on(MAKE, "missing/x", { ...NOFOLLOW, ...SINGLE }), ...NOT_FOUND);
    await expectError(on(MAKE, "d", { ...NOFOLLOW, ...SINGLE }), ...EXISTS);
    expect(await readdir(tree.root)).toEqual(["d"]);
  }),
);
