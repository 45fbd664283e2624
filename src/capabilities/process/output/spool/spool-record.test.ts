import { crc32 } from "node:zlib";
import { expect, test } from "vitest";
import {
  decodeRecord,
  encodeDescription,
  encodeOutput,
  HEADER_BYTES,
  lengthAt,
  MAX_RECORD_BYTES,
  type SpooledChunk,
} from "./spool-record.ts";

const chunk = (seq: number, text: string, atMs = 1_000): SpooledChunk => ({
  seq,
  stream: seq % 2 === 0 ? "stderr" : "stdout",
  atMs,
  bytes: Buffer.from(text),
});

/** The record at the beginning of these bytes. */
function decode(bytes: Buffer) {
  const length = lengthAt(bytes, 0);
  return length === undefined ? undefined : decodeRecord(bytes, 0, length);
}

test("a record has its events, with numbers, streams and times, and says where it ends", () => {
  const chunks = [chunk(7, "one"), chunk(8, ""), chunk(10, "two", -5.5)];
  const record = encodeOutput(chunks);
  expect(decode(Buffer.concat([record, Buffer.from("more")]))).toEqual({
    kind: "output",
    chunks,
    end: record.length,
  });
  expect(decode(encodeDescription('{"a":1}'))).toMatchObject({ kind: "description", text: '{"a":1}' });
});

test("no byte can change, and none can be missing, unnoticed", () => {
  const record = encodeOutput([chunk(1, "abc"), chunk(2, "de")]);
  for (let at = 0; at < record.length; at += 1) {
    expect(decode(record.subarray(0, at))).toBeUndefined();
    const changed = Buffer.from(record);
    changed[at]! ^= 1;
    expect(decode(changed)).toBeUndefined();
  }
});

/** A record that was changed and has the right checksum again. */
function forged(change: (record: Buffer) => void): Buffer {
  const record = encodeOutput([chunk(1, "abc"), chunk(2, "de")]);
  change(record);
  record.writeUInt32LE(crc32(record.subarray(8)), 4);
  return record;
}

test.each([
  ["as it was", () => {}, true],
  ["a length beyond the record", (record: Buffer) => record.writeUInt32LE(4, HEADER_BYTES), false],
  ["a stream that does not exist", (record: Buffer) => record.writeUInt8(9, HEADER_BYTES + 3), false],
  ["more events than there are", (record: Buffer) => record.writeUInt32LE(2 ** 31, 12), false],
  ["fewer events than there are", (record: Buffer) => record.writeUInt32LE(1, 12), false],
  ["numbers that are none", (record: Buffer) => record.writeDoubleLE(Number.NaN, 16), false],
  ["numbers that fall", (record: Buffer) => record.writeUInt32LE(5, HEADER_BYTES + 4), false],
  ["times that are none", (record: Buffer) => record.writeDoubleLE(Infinity, HEADER_BYTES + 8), false],
] as const)("a record with the right checksum counts only if it makes sense: %s", (_what, change, counts) => {
  expect(decode(forged(change)) !== undefined).toBe(counts);
});

test("a length that no record has is not believed", () => {
  const record = encodeOutput([chunk(1, "abc")]);
  record.writeUInt32LE(MAX_RECORD_BYTES, 8);
  expect(lengthAt(record, 0)).toBeUndefined();
});
