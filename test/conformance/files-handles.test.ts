import { appendFile, readFile, rename, stat, unlink, writeFile } from "node:fs/promises";
import { expect } from "vitest";
import type { RawPeer } from "./raw-peer.ts";
import { resume } from "./session-peers.ts";
import {
  BAD_DESCRIPTOR,
  fifo,
  LINK_LOOP,
  link,
  NO_DEVICE,
  NOT_A_DIRECTORY,
  NOT_FOUND,
  notAFile,
  onTree,
  socket,
} from "./temp-tree.ts";
import { base64, expectError, fromBase64, verifies } from "./verifies.ts";

const MIB = 1024 * 1024;
const MAX_HANDLES = 128;
const DIGITS = "0123456789";

async function readBlock(peer: RawPeer, handleId: string, offset: number, len: number) {
  const result = await peer.request("fs/readBlock", { handleId, offset, len });
  expect(Object.keys(result)).toEqual(["chunk", "eof"]);
  return { text: fromBase64(result.chunk), eof: result.eof };
}

const unknownHandle = (handleId: string) => [-32004, `unknown file handle \`${handleId}\``] as const;
const ID_TOO_LONG = [-32600, "file handle ID must not exceed 32 bytes"] as const;
const TOO_MANY = [-32600, "at most 128 file handles may be open per connection"] as const;
const BAD_LENGTH = [-32600, "file read block length must be between 1 and 1048576"] as const;

verifies(
  "fs.open:result",
  onTree({ f: DIGITS }, async ({ on }) => {
    expect(await on("fs/open", "f", { handleId: "one" })).toEqual({ handleId: "one" });
    expect(await on("fs/open", "f", { handleId: " \u{1f600}\n" })).toEqual({ handleId: " \u{1f600}\n" });
  }),
);

verifies(
  "fs.open:default-mode",
  onTree({ f: DIGITS }, async ({ connection, on }) => {
    await on("fs/open", "f", { handleId: "default" });
    await on("fs/open", "f", { handleId: "read", mode: "read" });
    expect(await readBlock(connection, "default", 0, 4)).toEqual({ text: "0123", eof: false });
    expect(await readBlock(connection, "read", 0, 4)).toEqual({ text: "0123", eof: false });
  }),
);

verifies(
  "fs.open:link",
  onTree({ d: { f: "linked" }, lf: link("d/f"), ld: link("d") }, async ({ connection, on }) => {
    await on("fs/open", "lf", { handleId: "final" });
    await on("fs/open", "ld/f", { handleId: "middle" });
    expect(await readBlock(connection, "final", 0, 9)).toEqual({ text: "linked", eof: true });
    expect(await readBlock(connection, "middle", 0, 9)).toEqual({ text: "linked", eof: true });
  }),
);

verifies(
  "fs.open:empty-id",
  onTree({ f: DIGITS }, async ({ connection, on }) => {
    expect(await on("fs/open", "f", { handleId: "" })).toEqual({ handleId: "" });
    expect(await readBlock(connection, "", 2, 3)).toEqual({ text: "234", eof: false });
    expect(await connection.request("fs/close", { handleId: "" })).toEqual({});
    await expectError(readBlock(connection, "", 2, 3), ...unknownHandle(""));
  }),
);

verifies(
  "fs.open:id-length",
  onTree({ f: "" }, async ({ on }) => {
    for (const handleId of ["x".repeat(32), "é".repeat(16), "\u{1f600}".repeat(8)]) {
      expect(await on("fs/open", "f", { handleId })).toEqual({ handleId });
    }
    for (const handleId of ["x".repeat(33), "é".repeat(17), "\u{1f600}".repeat(9)]) {
      await expectError(on("fs/open", "f", { handleId }), ...ID_TOO_LONG);
    }
  }),
);

verifies(
  "fs.open:id-length-first",
  onTree({}, async ({ connection, on }) => {
    const handleId = "x".repeat(33);
    await expectError(on("fs/open", "missing", { handleId }), ...ID_TOO_LONG);
    await expectError(readBlock(connection, handleId, 0, 1), ...ID_TOO_LONG);
    const block = { handleId, offset: 0, chunk: base64("x") };
    await expectError(connection.request("fs/writeBlock", block), ...ID_TOO_LONG);
    await expectError(connection.request("fs/close", { handleId }), ...ID_TOO_LONG);
  }),
);

verifies(
  "fs.open:duplicate",
  onTree({ f: DIGITS, g: "other" }, async ({ connection, on, tree }) => {
    await on("fs/open", "f", { handleId: "h" });
    const failure = [-32600, "file handle `h` already exists"] as const;
    await expectError(on("fs/open", "f", { handleId: "h" }), ...failure);
    await expectError(on("fs/open", "missing", { handleId: "h" }), ...failure);
    await expectError(on("fs/open", "g", { handleId: "h", mode: "replace" }), ...failure);
    expect(await readFile(tree.path("g"), "utf8")).toBe("other");
    expect(await readBlock(connection, "h", 0, 3)).toEqual({ text: "012", eof: false });
  }),
);

verifies(
  "fs.open:limit",
  onTree({ f: DIGITS }, async ({ connection, on }) => {
    const ids = Array.from({ length: MAX_HANDLES }, (_, index) => `h${index}`);
    await Promise.all(ids.map((handleId) => on("fs/open", "f", { handleId })));
    await expectError(on("fs/open", "f", { handleId: "more" }), ...TOO_MANY);
    await connection.request("fs/close", { handleId: "h5" });
    await on("fs/open", "f", { handleId: "more" });
    await expectError(on("fs/open", "f", { handleId: "h5" }), ...TOO_MANY);
    expect(await readBlock(connection, "more", 0, 2)).toEqual({ text: "01", eof: false });
    expect(await readBlock(connection, "h127", 8, 3)).toEqual({ text: "89", eof: true });
  }),
);

verifies(
  "fs.open:limit-first",
  onTree({ f: DIGITS }, async ({ on, tree }) => {
    const ids = Array.from({ length: MAX_HANDLES }, (_, index) => `h${index}`);
    await Promise.all(ids.map((handleId) => on("fs/open", "f", { handleId })));
    await expectError(on("fs/open", "missing", { handleId: "more" }), ...TOO_MANY);
    await expectError(on("fs/open", "new", { handleId: "more", mode: "replace" }), ...TOO_MANY);
    await expect(stat(tree.path("new"))).rejects.toMatchObject({ code: "ENOENT" });
    await expectError(on("fs/open", "f", { handleId: "h1" }), -32600, "file handle `h1` already exists");
  }),
);

verifies(
  "fs.open:failures-do-not-count",
  onTree({ f: DIGITS, d: {} }, async ({ on }) => {
    const opens = Array.from({ length: MAX_HANDLES / 2 + 1 }, (_, index) => [
      expectError(on("fs/open", "missing", { handleId: `m${index}` }), ...NOT_FOUND),
      expectError(on("fs/open", "d", { handleId: `d${index}` }), -32600),
    ]);
    await Promise.all(opens.flat());
    expect(await on("fs/open", "f", { handleId: "m0" })).toEqual({ handleId: "m0" });
  }),
);

verifies(
  "fs.open:missing",
  onTree({ broken: link("nowhere") }, async ({ on }) => {
    for (const name of ["missing", "missing/x", "broken"]) {
      await expectError(on("fs/open", name, { handleId: "h" }), ...NOT_FOUND);
    }
  }),
);

verifies(
  "fs.open:not-a-file",
  onTree({ d: {}, ld: link("d"), fifo }, async ({ connection, on, tree }) => {
    for (const name of ["d", "ld", "fifo"]) {
      await expectError(on("fs/open", name, { handleId: "h" }), ...notAFile(tree.path(name)));
    }
    const device = { handleId: "h", path: "file:///dev/null" };
    await expectError(connection.request("fs/open", device), ...notAFile("/dev/null"));
    const replaced = { ...device, mode: "replace" };
    await expectError(connection.request("fs/open", replaced), ...notAFile("/dev/null"));
  }),
);

verifies(
  "fs.open:errors",
  onTree({ f: "", self: link("self"), socket }, async ({ on }) => {
    await expectError(on("fs/open", "f/x", { handleId: "h" }), ...NOT_A_DIRECTORY);
    await expectError(on("fs/open", "self", { handleId: "h" }), ...LINK_LOOP);
    await expectError(on("fs/open", "socket", { handleId: "h" }), ...NO_DEVICE);
  }),
);

verifies(
  "fs.open:mode",
  onTree({ f: DIGITS }, async ({ on, tree }) => {
    const unknown = "unknown variant `write`, expected `read` or `replace`";
    await expectError(on("fs/open", "f", { handleId: "h", mode: "write" }), -32602, unknown);
    for (const mode of [null, 1, true, []]) {
      await expectError(on("fs/open", "f", { handleId: "h", mode }), -32602);
    }
    expect(await readFile(tree.path("f"), "utf8")).toBe(DIGITS);
  }),
);

verifies(
  "fs.readBlock:range",
  onTree({ f: DIGITS }, async ({ connection, on }) => {
    await on("fs/open", "f", { handleId: "h" });
    expect(await readBlock(connection, "h", 0, 1)).toEqual({ text: "0", eof: false });
    expect(await readBlock(connection, "h", 3, 4)).toEqual({ text: "3456", eof: false });
  }),
);

verifies(
  "fs.readBlock:eof",
  onTree({ f: DIGITS }, async ({ connection, on }) => {
    await on("fs/open", "f", { handleId: "h" });
    expect(await readBlock(connection, "h", 0, 9)).toEqual({ text: "012345678", eof: false });
    expect(await readBlock(connection, "h", 0, 10)).toEqual({ text: DIGITS, eof: false });
    expect(await readBlock(connection, "h", 0, 11)).toEqual({ text: DIGITS, eof: true });
    expect(await readBlock(connection, "h", 9, 1)).toEqual({ text: "9", eof: false });
    expect(await readBlock(connection, "h", 9, 2)).toEqual({ text: "9", eof: true });
  }),
);

verifies(
  "fs.readBlock:beyond-end",
  onTree({ f: DIGITS }, async ({ connection, on }) => {
    await on("fs/open", "f", { handleId: "h" });
    for (const offset of [10, 11, 5_000_000_000]) {
      expect(await readBlock(connection, "h", offset, 1)).toEqual({ text: "", eof: true });
    }
  }),
);

verifies(
  "fs.readBlock:empty-file",
  onTree({ f: "" }, async ({ connection, on }) => {
    await on("fs/open", "f", { handleId: "h" });
    expect(await readBlock(connection, "h", 0, 1)).toEqual({ text: "", eof: true });
  }),
);

verifies(
  "fs.readBlock:length",
  onTree({ f: DIGITS }, async ({ connection, on }) => {
    await on("fs/open", "f", { handleId: "h" });
    for (const len of [0, MIB + 1, Number.MAX_SAFE_INTEGER]) {
      await expectError(readBlock(connection, "h", 0, len), ...BAD_LENGTH);
    }
    expect(await readBlock(connection, "h", 0, 1)).toEqual({ text: "0", eof: false });
    expect(await readBlock(connection, "h", 0, MIB)).toEqual({ text: DIGITS, eof: true });
  }),
);

verifies("fs.readBlock:length-first", async ({ peer }) => {
  await expectError(readBlock(await peer(), "nobody", 0, 0), ...BAD_LENGTH);
});

verifies(
  "fs.readBlock:whole-file",
  onTree({}, async ({ connection, on, tree }) => {
    const bytes = Buffer.alloc(2 * MIB + 3, "0123456789abcdef!");
    await writeFile(tree.path("f"), bytes);
    await on("fs/open", "f", { handleId: "h" });
    const offsets = [0, MIB, 2 * MIB];
    const blocks = await Promise.all(
      offsets.map((offset) => connection.request("fs/readBlock", { handleId: "h", offset, len: MIB })),
    );
    expect(blocks.map(({ eof }) => eof)).toEqual([false, false, true]);
    const read = Buffer.concat(blocks.map(({ chunk }) => Buffer.from(chunk, "base64")));
    expect(read.equals(bytes)).toBe(true);
  }),
);

verifies(
  "fs.readBlock:any-order",
  onTree({ f: DIGITS }, async ({ connection, on }) => {
    await on("fs/open", "f", { handleId: "h" });
    const texts = [];
    for (const offset of [8, 0, 8, 4]) texts.push((await readBlock(connection, "h", offset, 2)).text);
    expect(texts).toEqual(["89", "01", "89", "45"]);
  }),
);

verifies("fs.readBlock:unknown", async ({ peer }) => {
  await expectError(readBlock(await peer(), "nobody", 0, 1), ...unknownHandle("nobody"));
});

verifies(
  "fs.readBlock:offset-limit",
  onTree({ f: DIGITS }, async ({ connection, on }) => {
    await on("fs/open", "f", { handleId: "h" });
    expect(await readBlock(connection, "h", Number.MAX_SAFE_INTEGER, 1)).toEqual({ text: "", eof: true });
    for (const offset of [-1, 0.5, 1e30]) {
      await expectError(readBlock(connection, "h", offset, 1), -32602, "invalid number");
    }
    for (const len of [-1, 0.5, 1e30]) {
      await expectError(readBlock(connection, "h", 0, len), -32602, "invalid number");
    }
  }),
);

verifies(
  "fs.readBlock:failure-closes",
  onTree({}, async ({ connection, on }) => {
    await on("fs/open", "f", { handleId: "h", mode: "replace" });
    await expectError(readBlock(connection, "h", 0, 1), ...BAD_DESCRIPTOR);
    await expectError(readBlock(connection, "h", 0, 1), ...unknownHandle("h"));
    expect(await on("fs/open", "f", { handleId: "h" })).toEqual({ handleId: "h" });
  }),
);

verifies(
  "fs.handle:growth",
  onTree({ f: DIGITS }, async ({ connection, on, tree }) => {
    await on("fs/open", "f", { handleId: "h" });
    expect(await readBlock(connection, "h", 9, 5)).toEqual({ text: "9", eof: true });
    await appendFile(tree.path("f"), "abc");
    expect(await readBlock(connection, "h", 9, 5)).toEqual({ text: "9abc", eof: true });
  }),
);

verifies(
  "fs.handle:unlinked",
  onTree({ f: "first", g: "second", new: "new" }, async ({ connection, on, tree }) => {
    await on("fs/open", "f", { handleId: "f" });
    await on("fs/open", "g", { handleId: "g" });
    await unlink(tree.path("f"));
    await rename(tree.path("new"), tree.path("g"));
    expect(await readBlock(connection, "f", 0, 9)).toEqual({ text: "first", eof: true });
    expect(await readBlock(connection, "g", 0, 9)).toEqual({ text: "second", eof: true });
  }),
);

verifies(
  "fs.handle:per-connection",
  onTree({ f: "first", g: "second" }, async ({ connection, on, peer, tree }) => {
    const other = await peer();
    await on("fs/open", "f", { handleId: "h" });
    await expectError(readBlock(other, "h", 0, 9), ...unknownHandle("h"));
    await other.request("fs/open", { handleId: "h", path: tree.uri("g") });
    expect(await readBlock(other, "h", 0, 9)).toEqual({ text: "second", eof: true });
    await other.request("fs/close", { handleId: "h" });
    expect(await readBlock(connection, "h", 0, 9)).toEqual({ text: "first", eof: true });
  }),
);

verifies(
  "fs.handle:disconnect",
  onTree({ f: "first" }, async ({ connect, tree }) => {
    const first = await connect();
    const { sessionId } = await first.handshake();
    await first.request("fs/open", { handleId: "h", path: tree.uri("f") });
    first.drop();
    await first.closed;
    const second = await connect();
    await resume(second, sessionId);
    second.notify("initialized");
    await expectError(readBlock(second, "h", 0, 1), ...unknownHandle("h"));
    const opened = await second.request("fs/open", { handleId: "h", path: tree.uri("f") });
    expect(opened).toEqual({ handleId: "h" });
  }),
);

verifies(
  "fs.close:closed",
  onTree({ f: DIGITS }, async ({ connection, on }) => {
    await on("fs/open", "f", { handleId: "h" });
    expect(await connection.request("fs/close", { handleId: "h" })).toEqual({});
    await expectError(readBlock(connection, "h", 0, 1), ...unknownHandle("h"));
    const block = { handleId: "h", offset: 0, chunk: base64("x") };
    await expectError(connection.request("fs/writeBlock", block), ...unknownHandle("h"));
  }),
);

verifies(
  "fs.close:unknown",
  onTree({ f: DIGITS }, async ({ connection, on }) => {
    expect(await connection.request("fs/close", { handleId: "nobody" })).toEqual({});
    await on("fs/open", "f", { handleId: "h" });
    await connection.request("fs/close", { handleId: "h" });
    expect(await connection.request("fs/close", { handleId: "h" })).toEqual({});
  }),
);

verifies(
  "fs.close:reuse",
  onTree({ f: "first", g: "second" }, async ({ connection, on }) => {
    await on("fs/open", "f", { handleId: "h" });
    await connection.request("fs/close", { handleId: "h" });
    await on("fs/open", "g", { handleId: "h" });
    expect(await readBlock(connection, "h", 0, 9)).toEqual({ text: "second", eof: true });
  }),
);

verifies(
  "fs.close:pipelined",
  onTree({ f: "first", g: "second" }, async ({ connection, on }) => {
    const [, first, closed, , second] = await Promise.all([
      on("fs/open", "f", { handleId: "h" }),
      readBlock(connection, "h", 0, 9),
      connection.request("fs/close", { handleId: "h" }),
      on("fs/open", "g", { handleId: "h" }),
      readBlock(connection, "h", 0, 9),
    ]);
    expect([first.text, closed, second.text]).toEqual(["first", {}, "second"]);
  }),
);
