import { describe, expect, it } from "vitest";
import { encodeBase64 } from "../../base/base64.ts";
import { Base64Bytes } from "../../base/base64-bytes.ts";
import { createDeferred } from "../../base/deferred.ts";
import { ConnectionError, ProtocolError, RpcError, UsageError } from "../../base/errors.ts";
import { FileStreams } from "./file-streams.ts";
import { Files } from "./files.ts";
import { blocksOf, fakeCaller } from "../../../test/fixtures/fake-caller.ts";

const MIB = 1024 * 1024;

describe("a stream of a file", () => {
  it("asks for one block first, then some ahead, and closes at the end", async () => {
    const { caller, methods } = fakeCaller(blocksOf(new Uint8Array(2 * MIB)));
    const sizes: number[] = [];
    for await (const piece of new Files(caller).readStream("/x")) {
      if (sizes.length === 0) expect(methods().filter((name) => name === "fs/readBlock")).toHaveLength(5);
      sizes.push(piece.length);
    }
    expect(sizes).toEqual([MIB, MIB]);
    expect(methods().at(-1)).toBe("fs/close");
    const small = fakeCaller(blocksOf(new Uint8Array(10)));
    for await (const _ of new Files(small.caller).readStream("/x"));
    expect(small.methods()).toEqual(["fs/open", "fs/readBlock", "fs/close"]);
  });

  it("reads no more bytes than it is asked for", async () => {
    const bytes = Uint8Array.from({ length: 2 * MIB + 7 }, (_, index) => index >> 4);
    for (const [offset, length, lengths] of [
      [5, 10, [10]],
      [0, 0, []],
      [0, MIB, [MIB]],
      [3, MIB + 1, [MIB, 1]],
      [2 * MIB, 100, [7]],
      [3 * MIB, 100, []],
    ] as const) {
      const { caller, methods } = fakeCaller(blocksOf(bytes));
      const read: Uint8Array[] = [];
      for await (const piece of new Files(caller).readStream("/x", { offset, length })) read.push(piece);
      expect(read.map((piece) => piece.length)).toEqual(lengths);
      expect(Buffer.compare(Buffer.concat(read), bytes.subarray(offset, offset + length))).toBe(0);
      // Nothing is asked for beyond the end.
      const blocks = methods().filter((name) => name === "fs/readBlock").length;
      expect(blocks).toBeLessThanOrEqual(Math.ceil(length / MIB));
    }
    for (const length of [-1, 0.5, Number.NaN])
      expect(() => new Files(fakeCaller({}).caller).readStream("/x", { length })).toThrow(UsageError);
  });

  it("never has more than a bounded number of blocks under way", async () => {
    let underWay = 0;
    let most = 0;
    const bytes = new Uint8Array(12 * MIB);
    const { caller } = fakeCaller(
      blocksOf(bytes, {
        "fs/readBlock": async ({ offset, len }) => {
          underWay += 1;
          most = Math.max(most, underWay);
          await Promise.resolve();
          underWay -= 1;
          const block = bytes.subarray(offset, offset + len);
          return { chunk: encodeBase64(block), eof: block.length < len };
        },
      }),
    );
    let read = 0;
    for await (const piece of new Files(caller).readStream("/x")) read += piece.length;
    expect(read).toBe(bytes.length);
    expect(most).toBe(4);
  });

  it("leaves blocks alone until their reader is done, although their memory is used again", async () => {
    const file = Uint8Array.from({ length: 3 * MIB + 5 }, (_, index) => (index * 31) >> 3);
    let released = 0;
    const { caller } = fakeCaller(
      blocksOf(file, {
        "fs/readBlock": ({ offset, len }) => {
          const block = file.slice(offset, offset + len);
          const release = (): void => {
            released += 1;
            block.fill(0xff);
          };
          return { chunk: new Base64Bytes(block, release), eof: block.length < len };
        },
      }),
    );
    const expected = [0, 1, 2, 3].map((index) => file.slice(index * MIB, (index + 1) * MIB));
    const kept: Uint8Array[] = [];
    for await (const block of new FileStreams(caller).read("/x", { offset: 0 })) kept.push(block);
    expect(kept.map((block, index) => Buffer.compare(block, expected[index]!))).toEqual([0, 0, 0, 0]);
    expect(released).toBe(4);
    let index = 0;
    for await (const block of new FileStreams(caller).read("/x", { offset: 0, isOwned: false })) {
      await new Promise((resolve) => setImmediate(resolve));
      expect(Buffer.compare(block, expected[index]!)).toBe(0);
      expect(released).toBe(4 + index);
      index += 1;
    }
    expect(released).toBe(8);
    const left = new FileStreams(caller).read("/x", { offset: 0, isOwned: false });
    const first = await left.next();
    await left.return();
    expect(Buffer.compare(first.value!, expected[0]!)).toBe(0);
  });

  it("ends at the first short block, whatever has grown behind it", async () => {
    const { caller } = fakeCaller(
      blocksOf(new Uint8Array(0), {
        "fs/readBlock": ({ offset }) =>
          offset === MIB
            ? { chunk: encodeBase64(new Uint8Array(5)), eof: true }
            : { chunk: encodeBase64(new Uint8Array(MIB)), eof: false },
      }),
    );
    const sizes: number[] = [];
    for await (const piece of new Files(caller).readStream("/x")) sizes.push(piece.length);
    expect(sizes).toEqual([MIB, 5]);
  });

  it("a block whose length and end do not agree is a fault of the server, and the file is closed", async () => {
    const { caller, methods } = fakeCaller(
      blocksOf(new Uint8Array(0), { "fs/readBlock": () => ({ chunk: "AAAA", eof: false }) }),
    );
    await expect(new Files(caller).readStream("/x").next()).rejects.toThrow(ProtocolError);
    expect(methods().at(-1)).toBe("fs/close");
  });

  it("a failed block is a FileError; a handle that the server lost is a lost connection", async () => {
    const failing = (error: Error) =>
      new Files(
        fakeCaller(
          blocksOf(new Uint8Array(0), {
            "fs/readBlock": () => {
              throw error;
            },
            "fs/writeBlock": () => {
              throw error;
            },
            "environment/info": () => ({ capabilities: { fileWriteStreaming: true } }),
          }),
        ).caller,
      );
    const broken = failing(new RpcError(-32603, "Input/output error (os error 5)"));
    const io = { code: "OS_ERROR", errno: "EIO", path: "/x" };
    await expect(broken.readStream("/x").next()).rejects.toMatchObject(io);
    await expect(broken.writeStream("/x", [new Uint8Array(1)])).rejects.toMatchObject(io);
    const lost = failing(new RpcError(-32004, "unknown file handle `files-1`"));
    await expect(lost.readStream("/x").next()).rejects.toThrow(ConnectionError);
    await expect(lost.writeStream("/x", [new Uint8Array(1)])).rejects.toThrow(ConnectionError);
  });

  it("a file whose opening was given up is closed when it has been opened", async () => {
    const opened = createDeferred<object>();
    const closed = createDeferred<unknown>();
    const { caller, methods } = fakeCaller(
      blocksOf(new Uint8Array(0), {
        "fs/open": ({ handleId }) => opened.promise.then(() => ({ handleId })),
        "fs/close": ({ handleId }) => closed.resolve(handleId),
      }),
    );
    const controller = new AbortController();
    const reason = new Error("enough");
    const first = new Files(caller).readStream("/x", { signal: controller.signal }).next();
    controller.abort(reason);
    await expect(first).rejects.toBe(reason);
    expect(methods()).toEqual(["fs/open"]);
    opened.resolve({});
    expect(await closed.promise).toMatch(/^files-\d+$/);
  });

  it("has an id that no other file of the connection has, also within a sandbox", async () => {
    const ids: unknown[] = [];
    const { caller } = fakeCaller(
      blocksOf(new Uint8Array(1), {
        "fs/open": ({ handleId }) => {
          ids.push(handleId);
          return { handleId };
        },
      }),
    );
    for (const files of [new Files(caller), new Files(caller)]) await files.readStream("/x").next();
    expect(new Set(ids).size).toBe(2);
  });

  it("is written in blocks of 1 MiB, of which a bounded number is under way, with the memory of the source free at once", async () => {
    let underWay = 0;
    let most = 0;
    const written: { offset: number; chunk: string }[] = [];
    const { caller, methods } = fakeCaller(
      blocksOf(new Uint8Array(0), {
        "environment/info": () => ({ capabilities: { fileWriteStreaming: true } }),
        "fs/writeBlock": async (params) => {
          underWay += 1;
          most = Math.max(most, underWay);
          written.push(params);
          await new Promise((resolve) => setImmediate(resolve));
          underWay -= 1;
          return {};
        },
      }),
    );
    const shared = new Uint8Array(700_000);
    const source = function* () {
      for (let round = 1; round <= 12; round += 1) {
        shared.fill(round);
        yield shared;
      }
    };
    const files = new Files(caller);
    expect(await files.writeStream("/x", source())).toBe(12 * 700_000);
    const bytes = Buffer.concat(written.map(({ chunk }) => Buffer.from(chunk, "base64")));
    const expected = Buffer.concat([...Array(12).keys()].map((round) => Buffer.alloc(700_000, round + 1)));
    expect(Buffer.compare(bytes, expected)).toBe(0);
    expect(written.map(({ offset }) => offset)).toEqual([...Array(9).keys()].map((block) => block * MIB));
    expect(most).toBe(4);
    expect(methods().at(-1)).toBe("fs/close");
    await files.writeStream("/x", []);
    expect(methods().filter((name) => name === "environment/info")).toHaveLength(1);
  });

  it("goes to a server without fs/writeBlock in one message, up to what one holds", async () => {
    const { caller, calls } = fakeCaller({
      "environment/info": () => ({}),
      "fs/writeFile": () => ({}),
    });
    const files = new Files(caller);
    expect(await files.writeStream("/x", [new Uint8Array([1, 2]), new Uint8Array([3])])).toBe(3);
    expect(calls.at(-1)).toEqual({
      method: "fs/writeFile",
      params: { path: "file:///x", dataBase64: "AQID" },
    });
    let yielded = 0;
    const endless = function* () {
      for (;;) {
        yielded += 1;
        yield new Uint8Array(8 * MIB);
      }
    };
    await expect(files.writeStream("/x", endless())).rejects.toMatchObject({ code: "UNSUPPORTED" });
    expect(yielded).toBe(6);
    expect(calls).toHaveLength(2);
  });

  it("tells a source how much it may send", async () => {
    const { caller } = fakeCaller(
      blocksOf(new Uint8Array(0), {
        "environment/info": () => ({ capabilities: { fileWriteStreaming: true } }),
      }),
    );
    const texts = ["text"] as unknown as Uint8Array[];
    await expect(new Files(caller).writeStream("/x", texts)).rejects.toThrow(UsageError);
  });

  it.each([
    ["one byte more than was asked for", { chunk: encodeBase64(new Uint8Array(MIB + 1)), eof: false }],
    ["one byte more, and the end", { chunk: encodeBase64(new Uint8Array(MIB + 1)), eof: true }],
    ["twice as much", { chunk: encodeBase64(new Uint8Array(2 * MIB)), eof: false }],
  ])("a block with %s is an error, not an end", async (_, block) => {
    const metadata = { isDirectory: false, isFile: true, isSymlink: false, size: 10 * MIB };
    const { caller } = fakeCaller({
      ...blocksOf(new Uint8Array(10 * MIB)),
      "fs/getMetadata": () => ({ ...metadata, createdAtMs: 0, modifiedAtMs: 0 }),
      "fs/readBlock": () => block,
    });
    await expect(new Files(caller).read("/big")).rejects.toBeInstanceOf(ProtocolError);
  });

  it("a handle that was not asked for is an error, and what was opened is closed", async () => {
    const { caller, methods } = fakeCaller({
      "fs/open": () => ({ handleId: "another" }),
      "fs/close": () => ({}),
    });
    const read = new Files(caller).readStream("/f").next();
    await expect(read).rejects.toBeInstanceOf(ProtocolError);
    expect(methods()).toEqual(["fs/open", "fs/close"]);
  });
});
