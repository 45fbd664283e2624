import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openAround, temporaryDirectory } from "../../../test/fixtures/temporary-directory.ts";
import { AllowedRoots } from "./allowed-roots.ts";
import { freeAccess, sandboxedAccess } from "./file-access.ts";
import { FileHandles } from "./file-handles.ts";
import { ownLocation, Location } from "./location.ts";

const BLOCK = 64 * 1024;
const zeros = new Uint8Array(BLOCK);
const ones = new Uint8Array(BLOCK).fill(1);

let directory: string;
let handles: FileHandles;
const path = (): string => join(directory, "file");
const has = (contents: Buffer): boolean => readFileSync(path()).equals(contents);

beforeEach(() => {
  directory = temporaryDirectory();
  handles = new FileHandles();
  handles.open("h", ownLocation(path()), "replace");
});
afterEach(() => handles.closeAll());

it("zeros after the end of a file are a hole, of the right length", async () => {
  for (let block = 0; block < 16; block += 1) await handles.write("h", block * BLOCK, zeros);
  expect(has(Buffer.alloc(16 * BLOCK))).toBe(true);
  expect(statSync(path()).blocks * 512).toBeLessThan(8 * BLOCK);
});

it("zeros overwrite what is there, wholly or in part", async () => {
  await handles.write("h", 0, ones);
  await handles.write("h", 100, zeros);
  expect(has(Buffer.concat([ones.subarray(0, 100), zeros]))).toBe(true);
});

it("blocks that arrive in another order, or at once, are all there", async () => {
  const blocks = [zeros, ones, zeros, zeros, ones, zeros];
  const order = [5, 1, 0, 4, 3, 2];
  await Promise.all(order.map((block) => handles.write("h", block * BLOCK, blocks[block]!)));
  expect(has(Buffer.concat(blocks))).toBe(true);
});

describe("a program that gets the ID of its owner while it is open", () => {
  const SET_ID = 0o6755;
  const confined = (): Location => new Location(path(), sandboxedAccess);
  const mode = (): string => (statSync(path()).mode & 0o7777).toString(8);

  it.each([
    ["replace", () => handles.open("c", confined(), "replace")],
    ["continue", () => handles.openPart("c", confined(), { length: 0, isPrivate: false })],
  ])("loses it before a block of a client with roots or a sandbox is written (%s)", async (_, open) => {
    open();
    chmodSync(path(), SET_ID);
    const writing = handles.write("c", 0, ones);
    expect(mode()).toBe("755");
    await writing;
    expect(has(Buffer.from(ones))).toBe(true);
  });

  it.runIf(process.geteuid?.() === 0)(
    "keeps it when a client that is root without bounds writes",
    async () => {
      handles.open("c", new Location(path(), freeAccess), "replace");
      chmodSync(path(), SET_ID);
      await handles.write("c", 0, ones);
      expect(mode()).toBe("6755");
    },
  );

  it("loses it after a block that was being written", async () => {
    handles.open("c", confined(), "replace");
    const writing = handles.write("c", 0, ones);
    chmodSync(path(), SET_ID);
    await writing;
    expect(mode()).toBe("755");
  });
});

describe("a handle", () => {
  const read = (offset: number, length: number): Promise<{ text: string; eof: boolean }> =>
    handles.read("r", { offset, length }, (bytes, eof) => ({ text: bytes.toString(), eof }));
  beforeEach(() => {
    writeFileSync(join(directory, "read"), "0123456789");
    handles.open("r", ownLocation(join(directory, "read")), "read");
  });

  it("reads blocks, and says where the file ends", async () => {
    await expect(read(0, 4)).resolves.toEqual({ text: "0123", eof: false });
    await expect(read(6, 4)).resolves.toEqual({ text: "6789", eof: false });
    await expect(read(6, 5)).resolves.toEqual({ text: "6789", eof: true });
    await expect(read(100_000, 1024 * 1024)).resolves.toEqual({ text: "", eof: true });
    await expect(read(Number.MAX_SAFE_INTEGER, 1)).resolves.toEqual({ text: "", eof: true });
  });

  it("reads large blocks into memory that is used again", async () => {
    const blocks: unknown[] = [];
    for (let time = 0; time < 2; time += 1) {
      const { buffer, text } = await handles.read("r", { offset: 1, length: BLOCK }, (bytes) => ({
        buffer: bytes.buffer,
        text: bytes.toString(),
      }));
      expect(text).toBe("123456789");
      blocks.push(buffer);
      // It takes none of that memory.
      await read(0, BLOCK - 1);
    }
    expect(blocks[0]).toBe(blocks[1]);
  });

  it("has limits for a block", async () => {
    for (const length of [0, 1024 * 1024 + 1]) {
      await expect(read(0, length)).rejects.toThrow("block length must be between 1 and 1048576");
      await expect(handles.write("h", 0, new Uint8Array(length))).rejects.toThrow("between 1 and 1048576");
    }
    await expect(read(0, 1024 * 1024)).resolves.toMatchObject({ eof: true });
    await handles.write("h", 0, new Uint8Array(1024 * 1024));
    for (const offset of [2 ** 63, 2 ** 63 - BLOCK])
      await expect(handles.write("h", offset, ones)).rejects.toThrow("signed 64-bit file offset limit");
    for (const offset of [2 ** 63 - 2 * BLOCK, 2 ** 53 - BLOCK])
      await expect(handles.write("h", offset, ones)).rejects.toThrow("File too large");
  });

  it("is closed once nothing uses it, and after that is unknown", async () => {
    const reading = read(0, 4);
    const writing = handles.write("h", 0, ones);
    for (const id of ["r", "h"]) handles.close(id);
    await expect(reading).resolves.toEqual({ text: "0123", eof: false });
    await writing;
    expect(openAround(directory)).toEqual([]);
    await expect(read(0, 1)).rejects.toMatchObject({ code: "NOT_FOUND", message: "unknown file handle `r`" });
    await expect(handles.write("h", 0, ones)).rejects.toMatchObject({ code: "NOT_FOUND" });
    handles.close("r");
  });

  it("is closed by a read that fails", async () => {
    await expect(handles.read("h", { offset: 0, length: 1 }, () => {})).rejects.toMatchObject({
      code: "EBADF",
    });
    await expect(handles.write("h", 0, ones)).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect(openAround(directory)).toEqual([join(directory, "read")]);
  });

  it("closes with all others", async () => {
    handles.reserve("elsewhere");
    handles.closeAll();
    expect(openAround(directory)).toEqual([]);
    await expect(read(0, 1)).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  it("has an id of its own, and none that is too long", async () => {
    const location = ownLocation(path());
    handles.reserve("elsewhere");
    for (const id of ["h", "elsewhere"]) {
      for (const open of [
        () => handles.open(id, location, "read"),
        () => handles.openPart(id, location, { length: 0, isPrivate: false }),
        () => handles.reserve(id),
      ])
        expect(open).toThrow(`file handle \`${id}\` already exists`);
    }
    await expect(handles.write("elsewhere", 0, ones)).rejects.toMatchObject({ code: "NOT_FOUND" });
    handles.close("elsewhere");
    handles.reserve("elsewhere");
    const long = "ä".repeat(17);
    expect(() => handles.open(long, location, "read")).toThrow("must not exceed 32 bytes");
    expect(() => handles.close(long)).toThrow("must not exceed 32 bytes");
    handles.reserve("ä".repeat(16));
  });

  it("is one of 128 at most", () => {
    for (let count = 2; count < 128; count += 1) handles.reserve(`${count}`);
    expect(() => handles.open("more", ownLocation(path()), "read")).toThrow("at most 128 file handles");
    handles.close("r");
    handles.reserve("more");
  });

  it("empties a file that is to be replaced, and refuses everything else", () => {
    writeFileSync(join(directory, "old"), "contents");
    handles.open("o", ownLocation(join(directory, "old")), "replace");
    expect(readFileSync(join(directory, "old"), "utf8")).toBe("");
    expect(() => handles.open("n", ownLocation("/dev/null"), "replace")).toThrow(
      "path `/dev/null` is not a file",
    );
    expect(() => handles.open("d", ownLocation(directory), "replace")).toThrow("EISDIR");
    expect(() => handles.open("d", ownLocation(directory), "read")).toThrow("is not a file");
    const roots = new AllowedRoots([directory]);
    handles.open("in", new Location(join(directory, "new"), roots), "replace");
    expect(() => handles.open("out", new Location(`${directory}-not`, roots), "replace")).toThrow("outside");
  });

  it("continues a file", async () => {
    handles.openPart("p", ownLocation(join(directory, "read")), { length: 5, isPrivate: true });
    await handles.write("p", 5, Buffer.from("+"));
    expect(readFileSync(join(directory, "read"), "utf8")).toBe("01234+");
  });
});
