import { truncate, writeFile } from "node:fs/promises";
import { expect } from "vitest";
import {
  fifo,
  LINK_LOOP,
  LONG_NAME,
  link,
  NAME_TOO_LONG,
  NAMES_NO_ENTRY,
  NO_DEVICE,
  NOT_A_DIRECTORY,
  NOT_FOUND,
  NOT_REGULAR,
  notAFile,
  onTree,
  socket,
} from "./temp-tree.ts";
import { base64, expectError, fromBase64, verifies } from "./verifies.ts";

const NOFOLLOW = { followSymlinks: false };
const READ = "fs/readFile";

verifies(
  "fs.readFile:contents",
  onTree({ f: "hello\n" }, async ({ on }) => {
    expect(await on(READ, "f")).toEqual({ dataBase64: base64("hello\n") });
  }),
);

verifies(
  "fs.readFile:empty",
  onTree({ f: "" }, async ({ on }) => {
    expect(await on(READ, "f")).toEqual({ dataBase64: "" });
    expect(await on(READ, "f", NOFOLLOW)).toEqual({ dataBase64: "" });
  }),
);

const ALL_BYTES = Uint8Array.from({ length: 256 }, (_, value) => value);

verifies(
  "fs.readFile:all-bytes",
  onTree({ f: ALL_BYTES }, async ({ on }) => {
    expect(await on(READ, "f")).toEqual({ dataBase64: base64(ALL_BYTES) });
    expect(await on(READ, "f", NOFOLLOW)).toEqual({ dataBase64: base64(ALL_BYTES) });
  }),
);

verifies(
  "fs.readFile:large",
  onTree({}, async ({ connection, tree }) => {
    const size = 20 * 1024 * 1024;
    const bytes = Buffer.alloc(size, "0123456789abcdef!");
    await writeFile(tree.path("f"), bytes);
    const { dataBase64 } = await connection.request(READ, { path: tree.uri("f") }, { timeoutMs: 20_000 });
    // Not `toEqual`: a difference of this length would be printed.
    expect(Buffer.from(dataBase64, "base64").equals(bytes)).toBe(true);
  }),
);

verifies(
  "fs.readFile:too-large",
  onTree({ f: "" }, async ({ on, tree }) => {
    await truncate(tree.path("f"), 536_870_913);
    const message = "file is too large to read: limit is 536870912 bytes";
    await expectError(on(READ, "f"), -32600, message);
    await expectError(on(READ, "f", NOFOLLOW), -32600, message);
  }),
);

verifies(
  "fs.readFile:no-size",
  onTree({}, async ({ connection }) => {
    const status = await connection.request(READ, { path: "file:///proc/self/status" });
    expect(fromBase64(status.dataBase64)).toMatch(/^Name:.*\n(.*\n)*nonvoluntary_ctxt_switches:.*\n$/);
    const version = await connection.request(READ, { path: "file:///proc/version", ...NOFOLLOW });
    expect(fromBase64(version.dataBase64)).toMatch(/^Linux version .*\n$/);
  }),
);

verifies(
  "fs.readFile:directory",
  onTree({ d: {}, ld: link("d"), "sp é": {} }, async ({ connection, on, tree }) => {
    for (const name of ["d", "ld", "sp é"]) {
      await expectError(on(READ, name), ...notAFile(tree.path(name)));
    }
    await expectError(connection.request(READ, { path: "file:///" }), ...notAFile("/"));
  }),
);

verifies(
  "fs.readFile:special",
  onTree({ fifo }, async ({ connection, on, tree }) => {
    await expectError(on(READ, "fifo"), ...notAFile(tree.path("fifo")));
    await expectError(connection.request(READ, { path: "file:///dev/null" }), ...notAFile("/dev/null"));
  }),
);

verifies(
  "fs.readFile:socket",
  onTree({ socket }, async ({ on }) => {
    await expectError(on(READ, "socket"), ...NO_DEVICE);
    await expectError(on(READ, "socket", NOFOLLOW), ...NO_DEVICE);
  }),
);

verifies(
  "fs.readFile:link",
  onTree(
    { f: "file", lf: link("f"), llf: link("lf"), d: { x: "below" }, ld: link("d") },
    async ({ on, tree }) => {
      await link(tree.path("f"))(tree.path("absolute"));
      for (const more of [{}, { followSymlinks: null }, { followSymlinks: true }]) {
        const results = ["lf", "llf", "absolute", "ld/x"].map((name) => on(READ, name, more));
        const texts = (await Promise.all(results)).map(({ dataBase64 }) => fromBase64(dataBase64));
        expect(texts).toEqual(["file", "file", "file", "below"]);
      }
    },
  ),
);

verifies(
  "fs.readFile:missing",
  onTree({ broken: link("nowhere") }, async ({ on }) => {
    for (const name of ["missing", "missing/x", "broken", "broken/x"]) {
      await expectError(on(READ, name), ...NOT_FOUND);
    }
  }),
);

verifies(
  "fs.readFile:below-file",
  onTree({ f: "", lf: link("f") }, async ({ on }) => {
    await expectError(on(READ, "f/x"), ...NOT_A_DIRECTORY);
    await expectError(on(READ, "lf/x"), ...NOT_A_DIRECTORY);
  }),
);

verifies(
  "fs.readFile:link-cycle",
  onTree({ a: link("b"), b: link("a"), self: link("self") }, async ({ on }) => {
    for (const name of ["a", "b", "self", "self/x"]) await expectError(on(READ, name), ...LINK_LOOP);
  }),
);

verifies(
  "fs.readFile:name-too-long",
  onTree({ [LONG_NAME.slice(1)]: "longest" }, async ({ on }) => {
    expect(await on(READ, LONG_NAME.slice(1))).toEqual({ dataBase64: base64("longest") });
    await expectError(on(READ, LONG_NAME), ...NAME_TOO_LONG);
    await expectError(on(READ, LONG_NAME, NOFOLLOW), ...NAME_TOO_LONG);
    await expectError(on(READ, `${"d/".repeat(2100)}f`), ...NAME_TOO_LONG);
  }),
);

verifies(
  "fs.readFile.nofollow:plain",
  onTree({ f: "top", d: { e: { x: "below" } } }, async ({ on }) => {
    expect(await on(READ, "f", NOFOLLOW)).toEqual({ dataBase64: base64("top") });
    expect(await on(READ, "d/e/x", NOFOLLOW)).toEqual({ dataBase64: base64("below") });
  }),
);

verifies(
  "fs.readFile.nofollow:final-link",
  onTree(
    { f: "", d: {}, file: link("f"), directory: link("d"), nothing: link("nowhere"), self: link("self") },
    async ({ on }) => {
      for (const name of ["file", "directory", "nothing", "self"]) {
        await expectError(on(READ, name, NOFOLLOW), ...LINK_LOOP);
      }
    },
  ),
);

verifies(
  "fs.readFile.nofollow:middle-link",
  onTree({ d: { x: "", e: { y: "" } }, ld: link("d"), nothing: link("nowhere") }, async ({ on }) => {
    for (const name of ["ld/x", "ld/missing", "ld/e/y", "nothing/x"]) {
      await expectError(on(READ, name, NOFOLLOW), ...NOT_A_DIRECTORY);
    }
  }),
);

verifies(
  "fs.readFile.nofollow:not-regular",
  onTree({ d: {}, fifo }, async ({ connection, on }) => {
    await expectError(on(READ, "d", NOFOLLOW), ...NOT_REGULAR);
    await expectError(on(READ, "fifo", NOFOLLOW), ...NOT_REGULAR);
    await expectError(connection.request(READ, { path: "file:///dev/null", ...NOFOLLOW }), ...NOT_REGULAR);
  }),
);

verifies(
  "fs.readFile.nofollow:missing",
  onTree({ f: "" }, async ({ on }) => {
    await expectError(on(READ, "missing", NOFOLLOW), ...NOT_FOUND);
    await expectError(on(READ, "missing/x", NOFOLLOW), ...NOT_FOUND);
    await expectError(on(READ, "f/x", NOFOLLOW), ...NOT_A_DIRECTORY);
  }),
);

verifies(
  "fs.readFile.nofollow:root",
  onTree({}, async ({ connection }) => {
    await expectError(connection.request(READ, { path: "file:///", ...NOFOLLOW }), ...NAMES_NO_ENTRY);
  }),
);
