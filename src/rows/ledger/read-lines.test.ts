import { type FileHandle, mkdtemp, open, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { LineReader, readLines } from "./read-lines.ts";

const READ_BYTES = 256 * 1024;
const undo: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const act of undo.splice(0).reverse()) await act();
});

test.each([
  ["nothing", []],
  ["one line", ["a"]],
  ["empty lines", ["", "", "a", ""]],
  ["lines that end with a read", ["x".repeat(READ_BYTES - 1), "a"]],
  ["lines that are longer than a read", ["a", "x".repeat(3 * READ_BYTES), "b"]],
  ["characters that are cut by a read", ["€".repeat(READ_BYTES), "ü"]],
])("of %s, each line comes with its place", async (_, lines) => {
  const text = lines.map((line) => `${line}\n`).join("");
  let offset = 0;
  const expected = lines.map((line) => {
    const end = offset + Buffer.byteLength(line) + 1;
    const placed = { text: line, offset, end, isComplete: true };
    offset = end;
    return placed;
  });
  expect(await all(await fileOf(text))).toEqual(expected);
  expect(await all(await fileOf(`${text}rest`))).toEqual([
    ...expected,
    { text: "rest", offset, end: offset + 4, isComplete: false },
  ]);
});

test("single lines are read in any order, whatever their length", async () => {
  const lines = ["first", "x".repeat(5 * READ_BYTES), "", "ü€", "y".repeat(READ_BYTES), "last"];
  const file = await fileOf(lines.map((line) => `${line}\n`).join(""));
  const placed = await all(file);
  const reader = new LineReader(file);
  for (const at of [5, 0, 1, 2, 3, 4, 3, 1, 0, 5])
    expect(await reader.read(placed[at]!.offset)).toBe(lines[at]);
});

test("lines that are near each other are read together", async () => {
  const file = await fileOf("one\ntwo\nthree\n");
  let reads = 0;
  const counted = {
    read: (...args: Parameters<FileHandle["read"]>) => {
      reads += 1;
      return file.read(...args);
    },
  } as FileHandle;
  const reader = new LineReader(counted);
  expect([await reader.read(0), await reader.read(8), await reader.read(4)]).toEqual(["one", "three", "two"]);
  expect(reads).toBe(1);
});

test.each([
  ["behind the end", 100],
  ["at the end", 4],
  ["without a line break", 4, "one\ntwo"],
])("a line %s is an error", async (_, offset, text = "one\n") => {
  await expect(new LineReader(await fileOf(text)).read(offset)).rejects.toThrow(
    `the ledger has no line at ${offset}`,
  );
});

test("what was in memory before a line was read there does not count as its end", async () => {
  const file = await fileOf("one\ntwo");
  let reads = 0;
  const used = {
    read: (buffer: Buffer, ...more: [number, number, number]) => {
      reads += 1;
      if (reads > 10) throw new Error("it reads on and on");
      return file.read(buffer.fill("\n"), ...more);
    },
  } as unknown as FileHandle;
  await expect(new LineReader(used).read(4)).rejects.toThrow("the ledger has no line at 4");
});

async function fileOf(text: string): Promise<FileHandle> {
  const folder = await mkdtemp(join(tmpdir(), "read-lines-"));
  undo.push(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, "file"), text);
  const file = await open(join(folder, "file"));
  undo.push(() => file.close());
  return file;
}

async function all(file: FileHandle) {
  const lines = [];
  for await (const line of readLines(file)) lines.push(line);
  return lines;
}
