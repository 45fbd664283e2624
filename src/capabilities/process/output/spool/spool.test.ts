import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Logger } from "../../../../base/logger.ts";
import { Spool, type SpoolEvents } from "./spool.ts";
import { SpoolFiles } from "./spool-files.ts";
import { type FromSpool, SpoolService, type ToSpool } from "./spool-service.ts";

const MIB = 1024 * 1024;
const BLOCK = 256 * 1024;
const LIMITS = { maxBytesPerProcess: 64 * MIB, maxBytesPerOwner: 64 * MIB, maxBytes: 64 * MIB };
const ALL = Number.MAX_SAFE_INTEGER;

let directory: string;
let files: SpoolFiles;
let spool: Spool;
let service: SpoolService;
let events: SpoolEvents;
/** Messages that the thread has not taken yet, while the disk is slow. */
let waiting: ToSpool[];
let answers: FromSpool[];
let warnings: string[];

beforeEach(() => {
  vi.useFakeTimers();
  directory = mkdtempSync("/var/tmp/spool-");
  files = new SpoolFiles(join(directory, "output"), LIMITS);
  [waiting, answers, warnings] = [[], [], []];
  const warn = (message: string, fields?: { reason?: string }): void =>
    void warnings.push(`${message}: ${fields?.reason}`);
  const logger = { debug: () => {}, info: () => {}, warn, error: warn } as unknown as Logger;
  spool = new Spool((given) => {
    events = given;
    service = new SpoolService(files, (message) => void answers.push(message));
    return { send: (message) => void waiting.push(message), end: async () => {} };
  }, logger);
});
afterEach(async () => {
  await spool.close();
  vi.useRealTimers();
  files.close();
  rmSync(directory, { recursive: true, force: true });
});

/** Lets the thread take as many messages. */
function work(count = Infinity): void {
  for (let left = count; left > 0 && waiting.length > 0; left -= 1) service.take(waiting.shift()!);
  for (const answer of answers.splice(0)) events.message(answer);
}

function openProcess() {
  const calls: string[] = [];
  const process = spool.open({ process: "p", owner: "user:ann", argv: ["p"], startedAt: "2026" });
  process.follow({
    pauseOutput: () => void calls.push("pause"),
    resumeOutput: () => void calls.push("resume"),
  });
  let seq = 0;
  const add = (bytes: number): void => {
    seq += 1;
    process.add(seq, "stdout", new Uint8Array(bytes).fill(seq));
  };
  return { process, calls, add };
}

async function seqsOf(process: ReturnType<typeof openProcess>["process"]): Promise<number[]> {
  const seqs: number[] = [];
  for (let after = 0; after < ALL - 1; ) {
    const asked = process.read(after, ALL, MIB);
    work();
    const page = await asked;
    seqs.push(...page.chunks.map(({ seq }) => seq));
    after = page.endSeq - 1;
  }
  return seqs;
}

test("writes nothing before there is output", () => {
  openProcess();
  vi.advanceTimersByTime(10_000);
  expect(waiting).toEqual([]);
});

test("what was just added is read, and is soon on disk without being read", async () => {
  const { process, add } = openProcess();
  add(10);
  add(20);
  expect(await seqsOf(process)).toEqual([1, 2]);
  add(30);
  vi.advanceTimersByTime(1_000);
  work();
  expect(files.read(1, 2, ALL, MIB).chunks.map(({ bytes }) => bytes.length)).toEqual([30]);
  process.remove();
  work();
  expect(readdirSync(join(directory, "output"))).toEqual([]);
  add(1);
  expect(await process.read(0, 9, MIB)).toEqual({ chunks: [], endSeq: 9 });
});

test("however much is asked, what is written waits for few questions", async () => {
  const { process, add } = openProcess();
  add(10);
  const asked = Array.from({ length: 10 }, () => process.read(0, ALL, MIB));
  const questions = (): number => waiting.filter(({ kind }) => kind === "question").length;
  expect(questions()).toBe(2);
  for (let turn = 0; turn < 10; turn += 1) {
    work();
    await Promise.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(questions()).toBeLessThanOrEqual(2);
  }
  for (const page of await Promise.all(asked)) expect(page.chunks.map(({ seq }) => seq)).toEqual([1]);
});

test("many small pieces of many processes are few messages", () => {
  const processes = Array.from({ length: 50 }, openProcess);
  for (let round = 0; round < 50; round += 1) for (const { add } of processes) add(10);
  vi.advanceTimersByTime(1_000);
  expect(waiting.filter(({ kind }) => kind === "block")).toHaveLength(1);
  work();
  for (let key = 1; key <= 50; key += 1) expect(files.read(key, 0, ALL, MIB).chunks).toHaveLength(50);
});

test("a process waits for the disk, and nothing is lost", async () => {
  const { process, calls, add } = openProcess();
  while (!calls.includes("pause")) add(BLOCK / 4);
  expect(waiting.length).toBeLessThan(40);
  expect(calls).toEqual(["pause"]);
  work(10);
  expect(calls).toEqual(["pause"]);
  work();
  expect(calls).toEqual(["pause", "resume"]);
  const seqs = await seqsOf(process);
  expect(seqs).toEqual(Array.from(seqs, (_, index) => index + 1));
  expect(warnings).toEqual([]);
});

test("nothing waits for a disk that is too slow: what does not fit is missing, and the rest is there", async () => {
  const { process, calls, add } = openProcess();
  const quiet = openProcess();
  while (!calls.includes("pause")) add(BLOCK / 4);
  vi.advanceTimersByTime(1_100);
  expect(calls).toEqual(["pause", "resume"]);
  for (let count = 0; count < 1_000; count += 1) add(BLOCK / 4);
  expect(calls).toEqual(["pause", "resume"]);
  expect(waiting.length).toBeLessThan(70);
  expect(warnings).toEqual([
    "output cannot be written to disk, and is kept in memory only: the disk is too slow",
  ]);
  work();
  add(10);
  quiet.add(10);
  const seqs = await seqsOf(process);
  expect(seqs.length).toBeGreaterThan(150);
  expect(seqs.length).toBeLessThan(300);
  expect(seqs.at(-1)).toBeGreaterThan(1_000);
  expect(await seqsOf(quiet.process)).toEqual([1]);
  // A disk that keeps pace again is waited for again, after a while.
  vi.advanceTimersByTime(11_000);
  while (calls.length < 3) add(BLOCK / 4);
  expect(calls).toEqual(["pause", "resume", "pause"]);
});

test("a fault of the disk is logged once, and what is written afterwards is there", async () => {
  const { process, add } = openProcess();
  const append = vi.spyOn(files, "append").mockImplementation(() => {
    throw new Error("ENOSPC: no space left on device, write");
  });
  for (let count = 0; count < 3; count += 1) {
    add(10);
    vi.advanceTimersByTime(1_000);
    work();
  }
  expect(warnings).toEqual([
    "output cannot be written to disk, and is kept in memory only: ENOSPC: no space left on device, write",
  ]);
  append.mockRestore();
  add(10);
  expect(await seqsOf(process)).toEqual([4]);
});

test("when its thread ends, everything goes on without it", async () => {
  const { process, calls, add } = openProcess();
  while (!calls.includes("pause")) add(BLOCK / 4);
  const asked = process.read(0, 7, MIB);
  events.failed("it was killed");
  expect(await asked).toEqual({ chunks: [], endSeq: 7 });
  expect(calls).toEqual(["pause", "resume"]);
  add(10);
  expect(await process.read(0, 7, MIB)).toEqual({ chunks: [], endSeq: 7 });
  expect(await process.times(3, 9, 10)).toEqual({ firstSeq: 9, timesMs: [] });
  expect(warnings).toEqual(["the thread that writes output to disk has failed: it was killed"]);
});
