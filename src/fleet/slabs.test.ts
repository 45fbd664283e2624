import { expect, test } from "vitest";
import { Slabs } from "./slabs.ts";

const KIB = 1024;

test.each([
  [16 * KIB - 1, false],
  [16 * KIB, true],
  [96 * KIB, true],
  [96 * KIB + 1, true],
  [257 * KIB, true],
  [257 * KIB + 1, false],
])("memory of %i bytes has its length, and is used again: %s", (bytes, isKept) => {
  const slabs = new Slabs();
  const first = slabs.take(bytes);
  expect(first.length).toBe(bytes);
  slabs.give(first);
  const second = slabs.take(bytes);
  expect(second.length).toBe(bytes);
  expect(second.buffer === first.buffer).toBe(isKept);
});

test("short memory is not used for long frames, nor long memory for short ones", () => {
  const slabs = new Slabs();
  const short = slabs.take(20 * KIB);
  const long = slabs.take(200 * KIB);
  slabs.give(short);
  slabs.give(long);
  expect(slabs.take(100 * KIB).buffer).toBe(long.buffer);
  expect(slabs.take(90 * KIB).buffer).toBe(short.buffer);
});

test("memory that is in use is not given to another frame", () => {
  const slabs = new Slabs();
  expect(slabs.take(20 * KIB).buffer).not.toBe(slabs.take(20 * KIB).buffer);
});

test("memory of others is not kept", () => {
  const slabs = new Slabs();
  const other = Buffer.alloc(20 * KIB);
  slabs.give(other);
  expect(slabs.take(20 * KIB).buffer).not.toBe(other.buffer);
});

test("a connection on which nothing is on its way keeps two of each length", () => {
  const slabs = new Slabs();
  const taken = Array.from({ length: 4 }, () => slabs.take(20 * KIB));
  for (const frame of taken) slabs.give(frame);
  slabs.rest();
  const known = new Set(taken.map(({ buffer }) => buffer));
  const again = Array.from({ length: 4 }, () => slabs.take(20 * KIB));
  expect(again.filter(({ buffer }) => known.has(buffer))).toHaveLength(2);
});
