import { createHash } from "node:crypto";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { openAround, temporaryDirectory } from "../../../test/fixtures/temporary-directory.ts";
import { wanted } from "../../../test/fixtures/wanted.ts";
import { type FileHash, hashFile, hashFiles, type HashedRange } from "./hash.ts";
import { ownLocation } from "./location.ts";

const WHOLE: HashedRange = { offset: 0, length: undefined };
const SIZES = [0, 10, 65_536, 65_537, 3_000_000];

let directory: string;
beforeEach(() => {
  directory = temporaryDirectory();
});

const at = (name: string): string => join(directory, name);
const contentsOf = (size: number): Buffer =>
  Buffer.alloc(size, "a pattern of a length that divides no block");
const hashOf = (bytes: Buffer): FileHash => ({
  bytes: bytes.length,
  sha256: createHash("sha256").update(bytes).digest("hex"),
});

describe.each(SIZES)("a file of %d bytes", (size) => {
  it("is hashed whole, and every range of it", async () => {
    const contents = contentsOf(size);
    writeFileSync(at("f"), contents);
    for (const offset of [0, 1, 7, size - 1, size, size + 5].filter((each) => each >= 0))
      for (const length of [undefined, 0, 1, size, size + 10]) {
        const end = length === undefined ? undefined : offset + length;
        await expect(hashFile(ownLocation(at("f")), { offset, length }, wanted)).resolves.toEqual(
          hashOf(contents.subarray(offset, end)),
        );
      }
    expect(openAround(directory)).toEqual([]);
  });
});

it("hashes many large files at once, though only a few are read at a time", async () => {
  const names = Array.from({ length: 12 }, (_, index) => `${index}`);
  for (const name of names) writeFileSync(at(name), contentsOf(70_000 + Number(name)));
  const hashes = await Promise.all(names.map((name) => hashFile(ownLocation(at(name)), WHOLE, wanted)));
  expect(hashes).toEqual(names.map((name) => hashOf(contentsOf(70_000 + Number(name)))));
});

it("hashes files of one directory, and leaves out what is no file", async () => {
  mkdirSync(at("d"));
  symlinkSync("small", at("link"));
  writeFileSync(at("small"), "small");
  writeFileSync(at("large"), contentsOf(100_000));
  const names = ["small", "none", "d", "link", "large", "...", "a\\b"];
  const small = hashOf(Buffer.from("small"));
  await expect(hashFiles(ownLocation(directory), names, WHOLE, wanted)).resolves.toEqual([
    small,
    undefined,
    undefined,
    small,
    hashOf(contentsOf(100_000)),
    undefined,
    undefined,
  ]);
  await expect(
    hashFiles(ownLocation(directory), ["small"], { offset: 1, length: 2 }, wanted),
  ).resolves.toEqual([hashOf(Buffer.from("ma"))]);
});

it.each(["", ".", "..", "d/f", "/", "a\0b"])("refuses a name that is none of an entry: %j", async (name) => {
  await expect(hashFiles(ownLocation(directory), ["f", name], WHOLE, wanted)).rejects.toThrow(
    `${JSON.stringify(name)} is not the name of an entry`,
  );
});

it("refuses too many names, and a range beyond any file", async () => {
  const names = (count: number): string[] => Array.from({ length: count }, () => "none");
  await expect(hashFiles(ownLocation(directory), names(1025), WHOLE, wanted)).rejects.toThrow(
    "at most 1024 names",
  );
  await expect(hashFiles(ownLocation(directory), names(1024), WHOLE, wanted)).resolves.toHaveLength(1024);
  const beyond = { offset: Number.MAX_SAFE_INTEGER, length: 1 };
  await expect(hashFile(ownLocation(at("none")), beyond, wanted)).rejects.toThrow("beyond any file");
  await expect(hashFiles(ownLocation(directory), [], beyond, wanted)).rejects.toThrow("beyond any file");
  writeFileSync(at("f"), "x");
  await expect(
    hashFile(ownLocation(at("f")), { offset: Number.MAX_SAFE_INTEGER, length: undefined }, wanted),
  ).resolves.toEqual(hashOf(Buffer.alloc(0)));
});

it("stops when it is no longer wanted, and closes what it has open", async () => {
  writeFileSync(at("large"), contentsOf(3_000_000));
  writeFileSync(at("small"), "");
  const gone = AbortSignal.abort();
  await expect(hashFile(ownLocation(at("large")), WHOLE, gone)).rejects.toThrow("the client is gone");
  await expect(hashFiles(ownLocation(directory), ["small"], WHOLE, gone)).rejects.toThrow(
    "the client is gone",
  );
  const leaving = new AbortController();
  const hashing = hashFile(ownLocation(at("large")), WHOLE, leaving.signal);
  leaving.abort();
  await expect(hashing).rejects.toThrow("the client is gone");
  expect(openAround(directory)).toEqual([]);
  // What was given up does not count among those that are read at a time.
  await Promise.allSettled(Array.from({ length: 9 }, () => hashFile(ownLocation(at("large")), WHOLE, gone)));
  await expect(hashFile(ownLocation(at("large")), WHOLE, wanted)).resolves.toMatchObject({
    bytes: 3_000_000,
  });
});
