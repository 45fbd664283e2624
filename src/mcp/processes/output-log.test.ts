import { expect, it } from "vitest";
import { OutputBudget, OutputLog } from "./output-log.ts";

const utf8 = new TextEncoder();
const text = (log: OutputLog, position: number, length: number) => {
  const { bytes, from } = log.read(position, length);
  return [from, new TextDecoder().decode(bytes)] as const;
};

it("returns any part by its position", () => {
  const log = new OutputLog();
  log.push(utf8.encode("hello "));
  log.push(utf8.encode("world"));
  expect(log.end).toBe(11);
  expect(text(log, 0, 100)).toEqual([0, "hello world"]);
  expect(text(log, 4, 3)).toEqual([4, "o w"]);
  expect(text(log, 11, 5)).toEqual([11, ""]);
  expect(text(log, 99, 5)).toEqual([11, ""]);
  expect(text(log, -5, 2)).toEqual([0, "he"]);
});

it("keeps the newest bytes, across its blocks", () => {
  const log = new OutputLog(undefined, 64 * 1024);
  const all = Buffer.from(Array.from({ length: 300_000 }, (_, index) => 33 + (index % 90)));
  for (let at = 0; at < all.length; at += 7_001) log.push(all.subarray(at, at + 7_001));
  expect(log.end).toBe(all.length);
  expect(all.length - log.start).toBeGreaterThan(40 * 1024);
  expect(all.length - log.start).toBeLessThanOrEqual(64 * 1024);
  const { bytes, from } = log.read(0, all.length);
  expect(from).toBe(log.start);
  expect(Buffer.from(bytes).equals(all.subarray(from))).toBe(true);
});

it("takes more than it keeps at once", () => {
  const log = new OutputLog(undefined, 64 * 1024);
  log.push(new Uint8Array(1_000_000).fill(97));
  log.push(utf8.encode("end"));
  expect(log.end).toBe(1_000_003);
  expect(text(log, 1_000_000, 10)).toEqual([1_000_000, "end"]);
});

it("shares memory with others, and keeps a little when there is none", () => {
  const budget = new OutputBudget(256 * 1024);
  const logs = Array.from({ length: 4 }, () => new OutputLog(budget));
  const text = (character: number) => new Uint8Array(300 * 1024).fill(character);
  const kept = () => logs.map(({ start, end }) => end - start);
  for (const [index, log] of logs.entries()) log.push(text(index));
  expect(kept()[0]).toBeGreaterThan(200 * 1024);
  for (const bytes of kept().slice(1)) {
    expect(bytes).toBeGreaterThanOrEqual(16 * 1024);
    expect(bytes).toBeLessThanOrEqual(32 * 1024);
  }
  const { bytes, from } = logs[1]!.read(0, 1024 * 1024);
  expect([bytes.every((byte) => byte === 1), from + bytes.length]).toEqual([true, 300 * 1024]);
  for (const log of logs) log.clear();
  expect(budget.isUsedUp).toBe(false);
  logs[3]!.push(text(3).subarray(0, 200 * 1024));
  expect(kept()[3]).toBe(200 * 1024);
});
