import { hash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MAX_RECORD_BYTES, MessageJoiner, RecordCutter, RecordOrder } from "./records.ts";

function recordsOf(messages: readonly Uint8Array[][]): { records: Buffer[]; flushed: number } {
  const cutter = new RecordCutter();
  let flushed = 0;
  for (const parts of messages) cutter.add(parts, () => (flushed += 1));
  const records: Buffer[] = [];
  for (let next = cutter.next(); next !== undefined; next = cutter.next()) {
    records.push(Buffer.concat(next.record));
    for (const done of next.whole) done();
  }
  return { records, flushed };
}

test("messages come out as they went in, in records that Noise can carry", () => {
  const length = fc.oneof(fc.integer({ min: 0, max: 50 }), fc.integer({ min: 61_000, max: 130_000 }));
  const message = fc
    .array(length, { minLength: 1, maxLength: 3 })
    .filter((parts) => parts.some((bytes) => bytes > 0));
  fc.assert(
    fc.property(fc.array(message, { maxLength: 6 }), (lengths) => {
      const messages = lengths.map((parts, at) => parts.map((bytes) => Buffer.alloc(bytes, 65 + at)));
      const { records, flushed } = recordsOf(messages);
      const joiner = new MessageJoiner(1_000_000);
      const joined = records.flatMap((record) => [...joiner.take(record)]);
      // Much faster than a comparison by Vitest.
      const digests = (buffers: readonly Buffer[]): string[] => buffers.map((each) => hash("sha1", each));
      expect(digests(joined)).toEqual(digests(messages.map((parts) => Buffer.concat(parts))));
      expect(flushed).toBe(messages.length);
      for (const record of records) expect(record.length).toBeLessThanOrEqual(MAX_RECORD_BYTES);
      for (const record of records.slice(0, -1)) expect(record).toHaveLength(MAX_RECORD_BYTES);
    }),
    { numRuns: 60 },
  );
});

test("a message that fills a record exactly is flushed with it", () => {
  const { records, flushed } = recordsOf([[Buffer.alloc(MAX_RECORD_BYTES - 4, 1)]]);
  expect(records).toHaveLength(1);
  expect(flushed).toBe(1);
});

test("what is dropped counts as flushed", () => {
  const cutter = new RecordCutter();
  let flushed = 0;
  cutter.add([Buffer.alloc(MAX_RECORD_BYTES)], () => (flushed += 1));
  cutter.next();
  cutter.clear();
  expect(flushed).toBe(1);
  expect(cutter.isEmpty).toBe(true);
});

describe("a joiner refuses", () => {
  test("an empty message", () => {
    expect(() => [...new MessageJoiner(100).take(Buffer.alloc(4))]).toThrow("a message is empty");
  });

  test("a message that is too long, as soon as its length is known", () => {
    const joiner = new MessageJoiner(100);
    expect([...joiner.take(Buffer.from([0, 0, 0]))]).toEqual([]);
    expect(() => [...joiner.take(Buffer.from([101]))]).toThrow("longer than 100 bytes");
    expect(() => [...new MessageJoiner(100).take(Buffer.alloc(4, 255))]).toThrow("longer than 100 bytes");
  });
});

describe("records", () => {
  const take = (order: RecordOrder, seq: number): string[] =>
    [...order.take(seq, Buffer.from(`${seq}`))].map(String);

  test("are put into their order, once", () => {
    const order = new RecordOrder();
    expect(take(order, 2)).toEqual([]);
    expect(take(order, 2)).toEqual([]);
    expect(take(order, 1)).toEqual([]);
    expect(take(order, 0)).toEqual(["0", "1", "2"]);
    expect(take(order, 1)).toEqual([]);
    expect(take(order, 3)).toEqual(["3"]);
  });

  test("may be 64 ahead, and no more", () => {
    const order = new RecordOrder();
    expect(take(order, 64)).toEqual([]);
    expect(() => take(order, 65)).toThrow("too far ahead");
  });

  test("may hold 1 MiB, and no more", () => {
    const order = new RecordOrder();
    const record = Buffer.alloc(512 * 1024);
    for (const seq of [1, 2]) expect([...order.take(seq, record)]).toEqual([]);
    expect(() => [...order.take(3, Buffer.alloc(1))]).toThrow("too far ahead");
  });
});
