import { closeSync, openSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { makeFifo, makeSocket } from "../../../test/fault/file-nodes.ts";
import { openAround, temporaryDirectory } from "../../../test/fixtures/temporary-directory.ts";
import { ownLocation } from "./location.ts";
import { fill, openRegularFile, readFile, readSmall } from "./read-file.ts";

const PATTERN = "a pattern of a length that divides no block";
const followed = { followSymlinks: true };
const notFollowed = { followSymlinks: false };

let directory: string;
beforeEach(() => {
  directory = temporaryDirectory();
});
const at = (name: string): string => join(directory, name);

/** Reads a file whole, and what was asked for it. */
async function read(
  name: string,
  options = followed,
  admit?: (bytes: number) => Promise<void> | undefined,
): Promise<{ bytes: Buffer; admitted: number[]; pieces: number[] }> {
  const admitted: number[] = [];
  const pieces: Buffer[] = [];
  const small = await readFile(ownLocation(name.startsWith("/") ? name : at(name)), options, {
    admit: (bytes) => {
      admitted.push(bytes);
      return admit?.(bytes);
    },
    onPiece: (piece) => pieces.push(Buffer.from(piece)),
  });
  const parts = small instanceof Buffer ? [Buffer.from(small)] : pieces;
  return { bytes: Buffer.concat(parts), admitted, pieces: pieces.map(({ length }) => length) };
}

it.each([0, 1, 65_536])("reads a small file at once: %d bytes", async (size) => {
  const contents = Buffer.alloc(size, PATTERN);
  writeFileSync(at("f"), contents);
  for (const options of [followed, notFollowed]) {
    const { bytes, admitted, pieces } = await read("f", options);
    expect(bytes.equals(contents)).toBe(true);
    expect([admitted, pieces]).toEqual([[], []]);
  }
  expect(openAround(directory)).toEqual([]);
});

it.each([65_537, 1_048_575, 2_500_000])("reads a larger file in pieces: %d bytes", async (size) => {
  const contents = Buffer.alloc(size, PATTERN);
  writeFileSync(at("f"), contents);
  const { bytes, admitted, pieces } = await read("f");
  expect(bytes.equals(contents)).toBe(true);
  expect(admitted).toEqual([size]);
  for (const piece of pieces.slice(0, -1)) expect(piece % 3).toBe(0);
  expect(openAround(directory)).toEqual([]);
});

it("asks again for a file that grows while it is read", async () => {
  writeFileSync(at("f"), Buffer.alloc(70_000));
  const { bytes, admitted } = await read("f", followed, (asked) => {
    if (asked === 70_000) truncateSync(at("f"), 80_000);
    return undefined;
  });
  expect([bytes.length, admitted]).toEqual([80_000, [70_000, 80_000]]);
});

it("closes a file that may not be read after all", async () => {
  writeFileSync(at("f"), Buffer.alloc(70_000));
  const refusal = read("f", followed, () => Promise.reject(new Error("no room")));
  await expect(refusal).rejects.toThrow("no room");
  expect(openAround(directory)).toEqual([]);
});

it("refuses a file that is too large, before and while it is read", async () => {
  writeFileSync(at("f"), "");
  truncateSync(at("f"), 512 * 1024 * 1024 + 1);
  await expect(read("f")).rejects.toThrow("file is too large to read: limit is 536870912 bytes");
  expect(openAround(directory)).toEqual([]);
});

it("reads a file of the kernel, which claims to be empty", async () => {
  const { bytes } = await read("/proc/self/status");
  expect(bytes.toString()).toContain(`\nPid:\t${process.pid}\n`);
});

describe("what is not a regular file", () => {
  const open = (name: string, options = followed): void => {
    closeSync(openRegularFile(ownLocation(name.startsWith("/") ? name : at(name)), options).fd);
  };

  it("is refused with its path, a socket as the system does", () => {
    makeSocket(at("socket"));
    makeFifo(at("pipe"));
    symlinkSync("pipe", at("to-pipe"));
    expect(() => open("socket")).toThrow("No such device or address (os error 6)");
    for (const path of [directory, at("pipe"), at("to-pipe"), "/dev/null", "/dev/zero"])
      expect(() => open(path), path).toThrow(`path \`${path}\` is not a file`);
    expect(() => open("none")).toThrow("ENOENT");
    expect(openAround(directory)).toEqual([]);
  });

  it("is refused if links are not followed, and so is a link", () => {
    makeFifo(at("pipe"));
    writeFileSync(at("f"), "");
    symlinkSync("f", at("link"));
    expect(() => open("f", notFollowed)).not.toThrow();
    for (const path of [directory, "pipe"])
      expect(() => open(path, notFollowed), path).toThrow("path is not a regular file");
    expect(() => open("link", notFollowed)).toThrow("Symbolic link loop");
    expect(openAround(directory)).toEqual([]);
  });
});

describe("reading from a descriptor", () => {
  const withFile = async (contents: string | Buffer, use: (fd: number) => unknown): Promise<void> => {
    writeFileSync(at("f"), contents);
    const fd = openSync(at("f"), "r");
    try {
      await use(fd);
    } finally {
      closeSync(fd);
    }
  };

  it("fits into the small buffer, whatever size the file has claimed", () =>
    withFile("contents", (fd) => {
      for (const claimed of [8, 0, 3, 100]) expect(readSmall(fd, claimed)?.toString()).toBe("contents");
    }));

  it("does not fit into the small buffer", () =>
    withFile(Buffer.alloc(65_537), (fd) => {
      for (const claimed of [0, 65_537]) expect(readSmall(fd, claimed)).toBeUndefined();
    }));

  it("fills a buffer from a position, as far as the file reaches", () =>
    withFile("0123456789", async (fd) => {
      const buffer = Buffer.alloc(4, ".");
      for (const [position, length, text] of [
        [0, 4, "0123"],
        [5, 4, "5678"],
        [8, 2, "8978"],
        [10, 0, "8978"],
      ] as const) {
        expect(await fill(fd, buffer, position)).toBe(length);
        expect(buffer.toString()).toBe(text);
      }
    }));
});
