import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { sandboxedAccess } from "./file-access.ts";
import { FileHandles } from "./file-handles.ts";
import { ownPlace, Place } from "./place.ts";

const BLOCK = 64 * 1024;
const zeros = new Uint8Array(BLOCK);
const ones = new Uint8Array(BLOCK).fill(1);

let directory: string;
let handles: FileHandles;
const path = (): string => join(directory, "file");
const has = (contents: Buffer): boolean => readFileSync(path()).equals(contents);

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "file-handles-"));
  handles = new FileHandles();
  handles.open("h", ownPlace(path()), "replace");
});
afterEach(() => {
  handles.closeAll();
  rmSync(directory, { recursive: true, force: true });
});

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
  const confined = (): Place => new Place(path(), sandboxedAccess);
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

  it("loses it after a block that was being written", async () => {
    handles.open("c", confined(), "replace");
    const writing = handles.write("c", 0, ones);
    chmodSync(path(), SET_ID);
    await writing;
    expect(mode()).toBe("755");
  });
});
