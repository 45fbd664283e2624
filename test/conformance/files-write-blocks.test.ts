import { lstat, readFile, stat } from "node:fs/promises";
import { expect } from "vitest";
import type { RawPeer } from "./raw-peer.ts";
import {
  BAD_DESCRIPTOR,
  fifo,
  fileOfMode,
  IS_A_DIRECTORY,
  LINK_LOOP,
  link,
  linkedTo,
  NO_DEVICE,
  NOT_A_DIRECTORY,
  NOT_FOUND,
  onTree,
  socket,
} from "./temp-tree.ts";
import { base64, expectError, verifies } from "./verifies.ts";

const MIB = 1024 * 1024;
const REPLACE = { handleId: "h", mode: "replace" };
const BAD_LENGTH = [-32600, "file write block length must be between 1 and 1048576"] as const;

function writeBlock(peer: RawPeer, handleId: string, offset: number, data: string | Uint8Array) {
  return peer.request("fs/writeBlock", { handleId, offset, chunk: base64(data) });
}

verifies(
  "fs.replace:creates",
  onTree({}, async ({ on, tree }) => {
    expect(await on("fs/open", "f", REPLACE)).toEqual({ handleId: "h" });
    const { mode, size } = await stat(tree.path("f"));
    expect({ mode: mode & 0o7777, size }).toEqual({ mode: 0o666 & ~process.umask(), size: 0 });
  }),
);

verifies(
  "fs.replace:truncates",
  onTree({ f: fileOfMode("contents", 0o640), hard: linkedTo("f") }, async ({ connection, on, tree }) => {
    await on("fs/open", "f", REPLACE);
    const { mode, size } = await stat(tree.path("f"));
    expect({ mode: mode & 0o7777, size }).toEqual({ mode: 0o640, size: 0 });
    await writeBlock(connection, "h", 0, "new");
    expect(await readFile(tree.path("hard"), "utf8")).toBe("new");
  }),
);

verifies(
  "fs.replace:link",
  onTree({ f: "contents", lf: link("f"), broken: link("new") }, async ({ connection, on, tree }) => {
    await on("fs/open", "lf", { ...REPLACE, handleId: "lf" });
    await on("fs/open", "broken", { ...REPLACE, handleId: "broken" });
    await writeBlock(connection, "lf", 0, "one");
    await writeBlock(connection, "broken", 0, "two");
    expect(await readFile(tree.path("f"), "utf8")).toBe("one");
    expect(await readFile(tree.path("new"), "utf8")).toBe("two");
    for (const name of ["lf", "broken"]) {
      expect((await lstat(tree.path(name))).isSymbolicLink()).toBe(true);
    }
  }),
);

verifies(
  "fs.replace:refused",
  onTree({ f: "", d: {}, ld: link("d"), self: link("self"), socket }, async ({ on }) => {
    for (const [name, failure] of [
      ["d", IS_A_DIRECTORY],
      ["ld", IS_A_DIRECTORY],
      ["missing/x", NOT_FOUND],
      ["f/x", NOT_A_DIRECTORY],
      ["self", LINK_LOOP],
      ["socket", NO_DEVICE],
    ] as const) {
      await expectError(on("fs/open", name, REPLACE), ...failure);
    }
  }),
);

verifies(
  "fs.replace:fifo",
  onTree({ fifo }, async ({ on }) => {
    await expectError(on("fs/open", "fifo", REPLACE), ...NO_DEVICE);
  }),
);

verifies(
  "fs.replace:twice",
  onTree({}, async ({ connection, on, tree }) => {
    await on("fs/open", "f", { ...REPLACE, handleId: "first" });
    await writeBlock(connection, "first", 0, "abcd");
    await on("fs/open", "f", { ...REPLACE, handleId: "second" });
    expect(await readFile(tree.path("f"), "utf8")).toBe("");
    await writeBlock(connection, "first", 2, "x");
    await writeBlock(connection, "second", 0, "yz");
    expect(await readFile(tree.path("f"), "utf8")).toBe("yzx");
  }),
);

verifies(
  "fs.writeBlock:visible",
  onTree({}, async ({ connection, on, tree }) => {
    await on("fs/open", "f", REPLACE);
    expect(await writeBlock(connection, "h", 0, "hello")).toEqual({});
    expect(await readFile(tree.path("f"), "utf8")).toBe("hello");
    await writeBlock(connection, "h", 5, " world");
    expect(await connection.request("fs/close", { handleId: "h" })).toEqual({});
    expect(await readFile(tree.path("f"), "utf8")).toBe("hello world");
  }),
);

verifies(
  "fs.writeBlock:hole",
  onTree({}, async ({ connection, on, tree }) => {
    await on("fs/open", "f", REPLACE);
    await writeBlock(connection, "h", 3, "d");
    expect(await readFile(tree.path("f"), "latin1")).toBe("\0\0\0d");
    await writeBlock(connection, "h", 6_000_000_000, "e");
    expect((await stat(tree.path("f"))).size).toBe(6_000_000_001);
  }),
);

verifies(
  "fs.writeBlock:rewrite",
  onTree({}, async ({ connection, on, tree }) => {
    await on("fs/open", "f", REPLACE);
    await writeBlock(connection, "h", 0, "abcdef");
    await writeBlock(connection, "h", 2, "XY");
    expect(await readFile(tree.path("f"), "utf8")).toBe("abXYef");
  }),
);

verifies(
  "fs.writeBlock:length",
  onTree({}, async ({ connection, on, tree }) => {
    await on("fs/open", "f", REPLACE);
    await expectError(writeBlock(connection, "h", 0, ""), ...BAD_LENGTH);
    await expectError(writeBlock(connection, "h", 0, Buffer.alloc(MIB + 1)), ...BAD_LENGTH);
    expect((await stat(tree.path("f"))).size).toBe(0);
    const block = Buffer.alloc(MIB, "0123456789abcdef!");
    await writeBlock(connection, "h", 0, block);
    await writeBlock(connection, "h", MIB, "x");
    expect((await readFile(tree.path("f"))).equals(Buffer.concat([block, Buffer.from("x")]))).toBe(true);
  }),
);

verifies("fs.writeBlock:length-first", async ({ peer }) => {
  await expectError(writeBlock(await peer(), "nobody", 0, ""), ...BAD_LENGTH);
});

verifies("fs.writeBlock:unknown", async ({ peer }) => {
  await expectError(writeBlock(await peer(), "nobody", 0, "x"), -32004, "unknown file handle `nobody`");
});

verifies(
  "fs.writeBlock:read-handle",
  onTree({ f: "contents" }, async ({ connection, on, tree }) => {
    await on("fs/open", "f", { handleId: "h" });
    await expectError(writeBlock(connection, "h", 0, "x"), ...BAD_DESCRIPTOR);
    expect(await readFile(tree.path("f"), "utf8")).toBe("contents");
    const block = { handleId: "h", offset: 0, len: 3 };
    expect(await connection.request("fs/readBlock", block)).toEqual({ chunk: base64("con"), eof: false });
  }),
);

verifies(
  "fs.writeBlock:base64",
  onTree({}, async ({ connection, on, tree }) => {
    await on("fs/open", "f", REPLACE);
    const write = (chunk: unknown) =>
      connection.request("fs/writeBlock", { handleId: "h", offset: 0, chunk });
    await expectError(write("QQ"), -32602, "Invalid padding");
    await expectError(write("*AAA"), -32602, "Invalid symbol 42, offset 0.");
    await expectError(write(null), -32602, "invalid type: null, expected a string");
    const unknown = { handleId: "nobody", offset: 0, chunk: "A" };
    await expectError(connection.request("fs/writeBlock", unknown), -32602, "Invalid input length: 1");
    expect(await readFile(tree.path("f"), "utf8")).toBe("");
    expect(await write(base64("good"))).toEqual({});
  }),
);

verifies(
  "fs.writeBlock:offset",
  onTree({}, async ({ connection, on, tree }) => {
    await on("fs/open", "f", REPLACE);
    for (const offset of [-1, 0.5, 1e30]) {
      await expectError(writeBlock(connection, "h", offset, "x"), -32602, "invalid number");
    }
    // JSON.stringify cannot write it; a reader that rounds it to 2^63 must refuse it too.
    const params = `{"handleId":"h","offset":9223372036854775807,"chunk":"AA=="}`;
    connection.sendText(`{"id":"far","method":"fs/writeBlock","params":${params}}`);
    expect(await connection.next(({ id }) => id === "far")).toMatchObject({
      error: { code: -32600, message: "file write range exceeds the signed 64-bit file offset limit" },
    });
    expect(await writeBlock(connection, "h", 0, "good")).toEqual({});
    expect(await readFile(tree.path("f"), "utf8")).toBe("good");
  }),
);

verifies(
  "fs.writeBlock:pipelined",
  onTree({ f: "a longer text than the new one" }, async ({ connection, on, tree }) => {
    const answers = await Promise.all([
      on("fs/open", "f", REPLACE),
      writeBlock(connection, "h", 0, "one "),
      writeBlock(connection, "h", 4, "two "),
      writeBlock(connection, "h", 8, "six"),
      writeBlock(connection, "h", 0, "ONE"),
      connection.request("fs/close", { handleId: "h" }),
    ]);
    expect(answers).toEqual([{ handleId: "h" }, {}, {}, {}, {}, {}]);
    expect(await readFile(tree.path("f"), "utf8")).toBe("ONE two six");
  }),
);
