import { expect, it } from "vitest";
import { OutputLog } from "./output-log.ts";

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
  const log = new OutputLog(64 * 1024);
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
  const log = new OutputLog(64 * 1024);
  log.push(new Uint8Array(1_000_000).fill(97));
  log.push(utf8.encode("end"));
  expect(log.end).toBe(1_000_003);
  expect(text(log, 1_000_000, 10)).toEqual([1_000_000, "end"]);
});
