import { createHash, randomBytes } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { expect } from "vitest";
import {
  fifo,
  fileOfMode,
  IS_A_DIRECTORY,
  LINK_LOOP,
  link,
  linkedTo,
  NOT_A_DIRECTORY,
  NOT_FOUND,
  onTree,
} from "./temp-tree.ts";
import { base64, expectError, verifies } from "./verifies.ts";

const MIB = 1024 * 1024;
const LARGE = randomBytes(5 * MIB + 17);
const HASH = "fs/hash";
const PART = "fs/openPart";

const sha256 = (bytes: string | Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

verifies(
  "files.hash:files",
  onTree({ f: "text", empty: "", large: LARGE, lf: link("f"), d: { g: "g", p: fifo } }, async ({ on }) => {
    expect(await on(HASH, "f")).toEqual({ hashes: [{ bytes: 4, sha256: sha256("text") }] });
    expect(await on(HASH, "lf")).toEqual({ hashes: [{ bytes: 4, sha256: sha256("text") }] });
    expect(await on(HASH, "empty")).toEqual({ hashes: [{ bytes: 0, sha256: sha256("") }] });
    expect(await on(HASH, "large")).toEqual({ hashes: [{ bytes: LARGE.length, sha256: sha256(LARGE) }] });
    for (const [offset, length] of [
      [0, 0],
      [1, 2],
      [MIB - 3, 3 * MIB],
      [4 * MIB, 5 * MIB],
      [9 * MIB, 1],
    ] as const) {
      const part = LARGE.subarray(offset, offset + length);
      const hashes = [{ bytes: part.length, sha256: sha256(part) }];
      expect(await on(HASH, "large", { offset, length }), `${offset} ${length}`).toEqual({ hashes });
    }
    expect(await on(HASH, "large", { offset: MIB })).toEqual({
      hashes: [{ bytes: LARGE.length - MIB, sha256: sha256(LARGE.subarray(MIB)) }],
    });
    expect(await on(HASH, "d", { names: ["p", "g", "none"] })).toEqual({
      hashes: [{ bytes: 0 }, { bytes: 1, sha256: sha256("g") }, { bytes: 0 }],
    });
    expect(await on(HASH, "", { names: [] })).toEqual({ hashes: [] });
  }),
);

verifies(
  "files.hash:refuses",
  onTree({ f: "text", d: {}, p: fifo, self: link("self") }, async ({ on }) => {
    await expectError(on(HASH, "none"), ...NOT_FOUND);
    await expectError(on(HASH, "f/x"), ...NOT_A_DIRECTORY);
    await expectError(on(HASH, "self"), ...LINK_LOOP);
    await expectError(on(HASH, "p"), -32600, / is not a file$/);
    await expectError(on(HASH, "d"), -32600, / is not a file$/);
    for (const name of ["", ".", "..", "d/../f", "/etc/hosts", "a\0b"])
      await expectError(on(HASH, "", { names: ["f", name] }), -32600, /is not the name of an entry$/);
    await expectError(on(HASH, "", { names: Array(1025).fill("f") }), -32600, /^at most 1024 names/);
    await expectError(on(HASH, "f", { offset: 2 ** 60 }), -32600, "the range is beyond any file");
    await expectError(on(HASH, "f", { offset: -1 }), -32602, /invalid number/);
  }),
);

verifies(
  "files.hash:order",
  onTree({ large: LARGE }, async ({ connection, on, tree }) => {
    const slow = on(HASH, "large");
    await on("fs/open", "new", { handleId: "h", mode: "replace" });
    const writing = connection.request("fs/writeBlock", { handleId: "h", offset: 0, chunk: base64("one") });
    const hashed = on(HASH, "new");
    const metadata = on("fs/getMetadata", "new");
    expect(await hashed).toEqual({ hashes: [{ bytes: 3, sha256: sha256("one") }] });
    expect(await metadata).toMatchObject({ size: 3 });
    await writing;
    expect(await slow).toEqual({ hashes: [{ bytes: LARGE.length, sha256: sha256(LARGE) }] });
    expect(await readFile(tree.path("new"), "utf8")).toBe("one");
  }),
);

verifies(
  "files.open-part:continues",
  onTree({ open: fileOfMode("0123456789", 0o644) }, async ({ connection, on, tree }) => {
    const write = (handleId: string, offset: number, text: string) =>
      connection.request("fs/writeBlock", { handleId, offset, chunk: base64(text) });
    expect(await on(PART, "new", { handleId: "new", private: true })).toEqual({ handleId: "new" });
    expect((await stat(tree.path("new"))).mode & 0o7777).toBe(0o600);
    await write("new", 0, "abcdef");
    await on(PART, "new", { handleId: "more", length: 4, private: true });
    await write("more", 4, "EF");
    expect(await readFile(tree.path("new"), "utf8")).toBe("abcdEF");
    await on(PART, "shared", { handleId: "shared" });
    expect((await stat(tree.path("shared"))).mode & 0o7777).toBe(0o666 & ~process.umask());
    await on(PART, "open", { handleId: "open", length: 10, private: true });
    expect(await readFile(tree.path("open"), "utf8")).toBe("0123456789");
    expect((await stat(tree.path("open"))).mode & 0o7777).toBe(0o600);
    await on(PART, "open", { handleId: "again" });
    expect(await readFile(tree.path("open"), "utf8")).toBe("");
    await expectError(on(PART, "open", { handleId: "again" }), -32600, /already exists$/);
  }),
);

verifies(
  "files.open-part:refuses",
  onTree(
    {
      f: "text",
      lf: link("f"),
      broken: link("new"),
      d: {},
      twice: "twice",
      hard: linkedTo("twice"),
      p: fifo,
    },
    async ({ on, tree }) => {
      const part = (name: string, more = {}) => on(PART, name, { handleId: name, ...more });
      await expectError(part("lf"), ...LINK_LOOP);
      await expectError(part("broken"), ...LINK_LOOP);
      await expectError(part("d"), ...IS_A_DIRECTORY);
      await expectError(part("none/x"), ...NOT_FOUND);
      for (const name of ["twice", "hard"])
        await expectError(part(name), -32600, / is not exclusively this user's file, so it is not resumed$/);
      await expectError(part("f", { length: 5 }), -32600, / has 4 bytes, fewer than the 5 to keep$/);
      expect((await part("p").catch((error: unknown) => error)) instanceof Error).toBe(true);
      for (const name of ["f", "lf"]) expect(await readFile(tree.path(name), "utf8")).toBe("text");
      expect(await readFile(tree.path("hard"), "utf8")).toBe("twice");
    },
  ),
);
