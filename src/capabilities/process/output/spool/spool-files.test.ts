import {
  appendFileSync,
  copyFileSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SpoolFiles } from "./spool-files.ts";
import type { SpooledChunk } from "./spool-record.ts";
import { SpoolArchive } from "./spool-remains.ts";

const MIB = 1024 * 1024;
const LIMITS = { maxBytesPerProcess: 4 * MIB, maxBytesPerOwner: 16 * MIB, maxBytes: 64 * MIB };
const ALL = Number.MAX_SAFE_INTEGER;
let directory: string;
let files: SpoolFiles;

beforeEach(() => {
  directory = join(mkdtempSync("/var/tmp/spool-files-"), "output");
  files = new SpoolFiles(directory, LIMITS);
});
afterEach(() => {
  files.close();
  rmSync(join(directory, ".."), { recursive: true, force: true });
});

function open(key: number, owner = "user:ann", process = `p${key}`): void {
  files.open(key, { process, owner, argv: ["make", "all"], startedAt: `2026-01-01T00:00:0${key}Z` });
}

const chunk = (seq: number, bytes: Uint8Array | string, atMs = seq * 1_000): SpooledChunk => ({
  seq,
  stream: "stdout",
  atMs,
  bytes: Buffer.from(bytes),
});

/** One record for each number, of that size. */
function fill(key: number, fromSeq: number, toSeq: number, size: number): void {
  for (let seq = fromSeq; seq <= toSeq; seq += 1) files.append(key, [chunk(seq, contents(seq, size))]);
}

const contents = (seq: number, size: number): Buffer => Buffer.alloc(size, `${seq} `);

/** All that can be read, page by page: checked, as ranges of numbers. */
function ranges(key: number, size: number, pageBytes = 64 * 1024): string[] {
  const seqs: number[] = [];
  for (let after = 0; after < ALL - 1; ) {
    const page = files.read(key, after, ALL, pageBytes);
    for (const { seq, bytes } of page.chunks) {
      expect(Buffer.from(bytes).equals(contents(seq, size))).toBe(true);
      expect(seq).toBeGreaterThan(seqs.at(-1) ?? 0);
      seqs.push(seq);
    }
    expect(page.endSeq).toBeGreaterThan(after);
    after = page.endSeq - 1;
  }
  return asRanges(seqs);
}

function asRanges(seqs: readonly number[]): string[] {
  const found: [number, number][] = [];
  for (const seq of seqs) {
    const last = found.at(-1);
    if (last !== undefined && seq === last[1] + 1) last[1] = seq;
    else found.push([seq, seq]);
  }
  return found.map(([from, to]) => `${from}-${to}`);
}

const paths = (): string[] =>
  readdirSync(directory)
    .toSorted((a, b) => Number(a.split(".")[1]) - Number(b.split(".")[1]))
    .map((name) => join(directory, name));

describe("what is on disk", () => {
  test("is read from any number to any other, in pages", () => {
    open(1);
    fill(1, 1, 300, 10_000);
    expect(paths().length).toBeGreaterThan(5);
    expect(ranges(1, 10_000)).toEqual(["1-300"]);
    const page = files.read(1, 41, 45, ALL);
    expect(page.chunks.map(({ seq }) => seq)).toEqual([42, 43, 44]);
    expect(page.endSeq).toBe(45);
    expect(files.read(1, 299, ALL, 1).chunks).toHaveLength(1);
    expect(files.read(1, 300, ALL, 1)).toEqual({ chunks: [], endSeq: ALL });
    // One chunk comes whatever its size.
    expect(files.read(1, 10, ALL, 1)).toMatchObject({ chunks: [{ seq: 11 }], endSeq: 12 });
  });

  test("belongs to its user alone, and is gone with its process", () => {
    open(1);
    open(2);
    expect(readdirSync(directory)).toEqual([]);
    fill(1, 1, 2, 10);
    fill(2, 1, 1, 10);
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    for (const path of paths()) expect(statSync(path).mode & 0o777).toBe(0o600);
    files.remove(1);
    expect(ranges(1, 10)).toEqual([]);
    expect(ranges(2, 10)).toEqual(["1-1"]);
    files.remove(2);
    expect(readdirSync(directory)).toEqual([]);
    expect(files.bytes).toBe(0);
    files.append(1, [chunk(9, "late")]);
    expect(readdirSync(directory)).toEqual([]);
  });

  test("is not found by a time that a clock has jumped away from, but by the order of events", () => {
    open(1);
    const times = [100, 200, 5_000, 300, 310, 50, 60, 400];
    for (const [index, atMs] of times.entries()) files.append(1, [chunk(index + 1, "x", atMs)]);
    expect(files.since(1, 0)).toBe(1);
    expect(files.since(1, 250)).toBe(8);
    expect(files.since(1, 55)).toBe(7);
    expect(files.since(1, 9_000)).toBe(9);
    expect(files.times(1, 2, ALL, 3)).toEqual({ firstSeq: 2, timesMs: [200, 5_000, 300] });
    expect(files.times(1, 7, 8, 9)).toEqual({ firstSeq: 7, timesMs: [60] });
    expect(files.times(1, 9, 20, 9)).toEqual({ firstSeq: 20, timesMs: [] });
  });

  test("is found by time in any of many files", () => {
    open(1);
    fill(1, 1, 300, 10_000);
    for (const seq of [1, 2, 77, 150, 299, 300]) expect(files.since(1, seq * 1_000)).toBe(seq);
    expect(files.since(1, 301_000)).toBe(301);
  });

  test("has times of consecutive events only", () => {
    open(1);
    for (const seq of [1, 2, 5, 6]) files.append(1, [chunk(seq, "x")]);
    expect(files.times(1, 1, ALL, 99)).toEqual({ firstSeq: 1, timesMs: [1_000, 2_000] });
    expect(files.times(1, 3, ALL, 99)).toEqual({ firstSeq: 5, timesMs: [5_000, 6_000] });
  });
});

describe("a limit", () => {
  test("removes the oldest output of the process", () => {
    open(1);
    fill(1, 1, 1_000, 10_000);
    expect(files.bytes).toBeLessThanOrEqual(LIMITS.maxBytesPerProcess);
    expect(files.bytes).toBeGreaterThan(LIMITS.maxBytesPerProcess * 0.9);
    const [range, ...others] = ranges(1, 10_000);
    expect(others).toEqual([]);
    expect(range).toMatch(/^[56]\d\d-1000$/);
    expect(paths().reduce((sum, path) => sum + lstatSync(path).size, 0)).toBe(files.bytes);
  });

  test("of an owner removes the oldest output of its processes, and of nobody else", () => {
    for (const key of [1, 2, 3, 4, 5, 6]) open(key, key === 1 ? "user:bob" : "user:ann");
    fill(1, 1, 100, 10_000);
    for (const key of [2, 3, 4, 5, 6]) fill(key, 1, 400, 10_000);
    expect(ranges(1, 10_000)).toEqual(["1-100"]);
    expect(ranges(2, 10_000)[0]).not.toMatch(/^1-/);
    expect(ranges(6, 10_000)).toEqual(["1-400"]);
    expect(files.bytes).toBeLessThanOrEqual(LIMITS.maxBytesPerOwner + 1.1 * MIB);
  });

  test("of all removes the oldest output, also what an earlier keeper has left", () => {
    open(1);
    fill(1, 1, 100, 10_000);
    files.close();
    files = new SpoolFiles(directory, { ...LIMITS, maxBytes: 2 * MIB });
    expect(files.bytes).toBeGreaterThan(MIB * 0.9);
    open(2);
    fill(2, 1, 150, 10_000);
    expect(files.bytes).toBeLessThanOrEqual(2 * MIB);
    expect(ranges(2, 10_000)).toEqual(["1-150"]);
    const left = new SpoolArchive(directory).list();
    expect(left.map(({ process }) => process)).toEqual(["p1", "p2"]);
    fill(2, 151, 250, 10_000);
    expect(new SpoolArchive(directory).list().map(({ process }) => process)).toEqual(["p2"]);
  });
});

describe("a file that somebody has changed", () => {
  const SIZE = 1_000;
  beforeEach(() => {
    open(1);
    fill(1, 1, 100, SIZE);
  });
  const only = (): string => paths()[0]!;

  test("is a gap where a byte differs, and nothing else", () => {
    const bytes = readFileSync(only());
    bytes[bytes.indexOf(contents(50, SIZE).subarray(0, 20)) + 10]! ^= 1;
    writeFileSync(only(), bytes);
    expect(ranges(1, SIZE)).toEqual(["1-49", "51-100"]);
    fill(1, 101, 110, SIZE);
    expect(ranges(1, SIZE)).toEqual(["1-49", "51-110"]);
  });

  test("is a gap where it was torn, and what follows is in another file", () => {
    truncateSync(only(), statSync(only()).size - 10);
    fill(1, 101, 110, SIZE);
    expect(ranges(1, SIZE)).toEqual(["1-99", "101-110"]);
    expect(paths()).toHaveLength(2);
  });

  test("is a gap where something was cut out or put in", () => {
    const bytes = readFileSync(only());
    writeFileSync(
      only(),
      Buffer.concat([
        bytes.subarray(0, 20_000),
        bytes.subarray(30_000, 50_000),
        Buffer.from("ESP1".repeat(10)),
        bytes.subarray(50_000),
      ]),
    );
    fill(1, 101, 110, SIZE);
    const found = ranges(1, SIZE);
    expect(found).toHaveLength(3);
    expect([found[0], found.at(-1)]).toEqual([
      expect.stringMatching(/^1-1\d$/),
      expect.stringMatching(/^\d\d-110$/),
    ]);
  });

  test("has no event twice if it holds itself again", () => {
    appendFileSync(only(), readFileSync(only()));
    expect(ranges(1, SIZE)).toEqual(["1-100"]);
  });

  test("is read behind damage of any length", () => {
    const bytes = readFileSync(only());
    for (const length of [2 * MIB - 2, 2 * MIB, 2 * MIB + 1]) {
      writeFileSync(only(), Buffer.concat([Buffer.alloc(length, "?"), bytes]));
      expect(ranges(1, SIZE)).toEqual(["1-100"]);
    }
  });

  test("costs little, whatever it is full of", () => {
    writeFileSync(only(), Buffer.alloc(4 * MIB, "ESP1"));
    fill(1, 101, 102, SIZE);
    expect(ranges(1, SIZE)).toEqual(["101-102"]);
    writeFileSync(only(), Buffer.alloc(8 * MIB, 0));
    expect(ranges(1, SIZE)).toEqual(["101-102"]);
  });

  test.each([
    ["nothing", () => {}],
    ["a directory", (path: string) => mkdirSync(path)],
    ["a link to a file of the same size", (path: string) => symlinkSync(`${path}.real`, path)],
    ["an empty file", (path: string) => writeFileSync(path, "")],
  ])("is a gap once there is %s in its place, and nothing is written there", (_what, replace) => {
    const path = only();
    copyFileSync(path, join(directory, "..", "real"));
    unlinkSync(path);
    writeFileSync(`${path}.real`, readFileSync(join(directory, "..", "real")));
    const before = readFileSync(`${path}.real`);
    replace(path);
    fill(1, 101, 110, SIZE);
    expect(ranges(1, SIZE)).toEqual(["101-110"]);
    expect(readFileSync(`${path}.real`).equals(before)).toBe(true);
    files.remove(1);
  });

  test("is replaced by what has to be written, even if something is in the way", () => {
    truncateSync(only(), 0);
    const path = only().replace(/\.1\.out$/, ".101.out");
    symlinkSync("/etc/passwd", path);
    fill(1, 101, 101, SIZE);
    expect(lstatSync(path).isFile()).toBe(true);
    expect(ranges(1, SIZE)).toEqual(["101-101"]);
  });
});

test("what is left is listed and read without the program that wrote it", () => {
  open(1, "user:ann", "build");
  open(2, "user:ann", "build");
  fill(1, 1, 50, 100_000);
  files.append(2, [chunk(1, "a"), chunk(2, "b")]);
  files.append(2, [chunk(5, "c")]);
  writeFileSync(join(directory, "rubbish.1.out"), "rubbish");
  writeFileSync(join(directory, "rubbish"), "rubbish");
  const archive = new SpoolArchive(directory);
  const [first, second, ...others] = archive.list();
  expect(others).toEqual([]);
  expect(second).toMatchObject({ process: "build", owner: "user:ann", argv: ["make", "all"] });
  expect([...archive.chunks(second!)].map(({ seq }) => seq)).toEqual([1, 2, 5]);
  expect(asRanges([...archive.chunks(first!)].map(({ seq }) => seq))).toEqual([
    expect.stringMatching(/^\d+-50$/),
  ]);
});

test("a directory that others can enter is refused", () => {
  mkdirSync(`${directory}-open`, { mode: 0o755 });
  expect(() => new SpoolFiles(`${directory}-open`, LIMITS)).toThrow("must belong to this user alone");
  symlinkSync(directory, `${directory}-link`);
  expect(() => new SpoolFiles(`${directory}-link`, LIMITS)).toThrow(/ELOOP|ENOTDIR/);
});
