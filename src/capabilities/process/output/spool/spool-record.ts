import { crc32 } from "node:zlib";
import type { StreamName } from "../output-log.ts";

/**
 * A file of the spool is a sequence of records. Each begins with this header, in little-endian numbers:
 *
 * - 4 bytes: `ESP1`
 * - 4 bytes: CRC-32 of everything after it
 * - 4 bytes: length of what follows the header
 * - 4 bytes: number of events; 0 for a description of the process, in JSON
 * - 8 bytes: number of the first event (double)
 *
 * For each event follow 4 bytes with its length, and its stream in the upper 8 bits; 4 bytes with its number, from the
 * first one; 8 bytes with its time, in milliseconds since the epoch (double); and its output.
 */
export const HEADER_BYTES = 24;
const EVENT_HEADER_BYTES = 16;
/** Longer records are never written, so a longer one is damaged. */
export const MAX_RECORD_BYTES = 1024 * 1024;

const MAGIC = Buffer.from("ESP1");
const CHECKED_FROM = 8;
const LENGTH_BITS = 24;
const MAX_LENGTH = 2 ** LENGTH_BITS - 1;
const STREAMS: readonly StreamName[] = ["stdout", "stderr", "pty"];

/** A piece of output with its number and time. */
export interface SpooledChunk {
  readonly seq: number;
  readonly stream: StreamName;
  readonly atMs: number;
  readonly bytes: Uint8Array;
}

/** What a file says about its process. */
export interface SpoolDescription {
  /** Its name or id. */
  readonly process: string;
  readonly owner: string;
  readonly argv: readonly string[];
  readonly startedAt: string;
}

export type SpoolRecord =
  | { readonly kind: "output"; readonly chunks: readonly SpooledChunk[]; readonly end: number }
  | { readonly kind: "description"; readonly text: string; readonly end: number };

export function streamCode(stream: StreamName): number {
  return STREAMS.indexOf(stream);
}

export function streamNamed(code: number): StreamName | undefined {
  return STREAMS[code];
}

/** Chunks in the order of their numbers, at least one. Memory to use may be given; it must be enough for a record. */
export function encodeOutput(chunks: readonly SpooledChunk[], memory?: Buffer): Buffer {
  const firstSeq = chunks[0]!.seq;
  let length = HEADER_BYTES;
  for (const { bytes } of chunks) length += EVENT_HEADER_BYTES + bytes.length;
  const record = memory?.subarray(0, length) ?? Buffer.allocUnsafe(length);
  let at = HEADER_BYTES;
  for (const { seq, stream, atMs, bytes } of chunks) {
    record.writeUInt32LE(streamCode(stream) * 2 ** LENGTH_BITS + bytes.length, at);
    record.writeUInt32LE(seq - firstSeq, at + 4);
    record.writeDoubleLE(atMs, at + 8);
    record.set(bytes, at + EVENT_HEADER_BYTES);
    at += EVENT_HEADER_BYTES + bytes.length;
  }
  return sealed(record, chunks.length, firstSeq);
}

export function encodeDescription(text: string): Buffer {
  return sealed(Buffer.concat([Buffer.alloc(HEADER_BYTES), Buffer.from(text)]), 0, 0);
}

function sealed(record: Buffer, count: number, firstSeq: number): Buffer {
  MAGIC.copy(record);
  record.writeUInt32LE(record.length - HEADER_BYTES, 8);
  record.writeUInt32LE(count, 12);
  record.writeDoubleLE(firstSeq, 16);
  record.writeUInt32LE(crc32(record.subarray(CHECKED_FROM)), 4);
  return record;
}

/** Length of the record that seems to begin at a position, with its header; undefined if none can. */
export function lengthAt(bytes: Buffer, at: number): number | undefined {
  if (bytes.length - at < HEADER_BYTES || MAGIC.compare(bytes, at, at + MAGIC.length) !== 0) return undefined;
  const length = HEADER_BYTES + bytes.readUInt32LE(at + 8);
  return length <= MAX_RECORD_BYTES ? length : undefined;
}

/** Where the next record may begin; the length of the bytes if nowhere. */
export function nextCandidate(bytes: Buffer, from: number): number {
  const at = bytes.indexOf(MAGIC, from);
  return at < 0 ? bytes.length : at;
}

/** The record of that length at a position; undefined if it is damaged. Chunks refer to the bytes. */
export function decodeRecord(bytes: Buffer, at: number, length: number): SpoolRecord | undefined {
  const end = at + length;
  if (end > bytes.length || bytes.readUInt32LE(at + 4) !== crc32(bytes.subarray(at + CHECKED_FROM, end)))
    return undefined;
  const count = bytes.readUInt32LE(at + 12);
  if (count === 0) return { kind: "description", text: bytes.toString("utf8", at + HEADER_BYTES, end), end };
  const chunks = decodeChunks(bytes.subarray(at + HEADER_BYTES, end), count, bytes.readDoubleLE(at + 16));
  return chunks && { kind: "output", chunks, end };
}

/** Undefined for what no writer of this program makes, with whatever checksum. */
function decodeChunks(payload: Buffer, count: number, firstSeq: number): SpooledChunk[] | undefined {
  if (!Number.isSafeInteger(firstSeq) || firstSeq < 1 || count * EVENT_HEADER_BYTES > payload.length)
    return undefined;
  const chunks: SpooledChunk[] = [];
  let at = 0;
  let last = 0;
  for (let index = 0; index < count; index += 1) {
    if (payload.length - at < EVENT_HEADER_BYTES) return undefined;
    const word = payload.readUInt32LE(at);
    const length = word % (MAX_LENGTH + 1);
    const stream = streamNamed(Math.floor(word / (MAX_LENGTH + 1)));
    const seq = firstSeq + payload.readUInt32LE(at + 4);
    const atMs = payload.readDoubleLE(at + 8);
    at += EVENT_HEADER_BYTES;
    if (stream === undefined || !Number.isFinite(atMs) || seq <= last || payload.length - at < length)
      return undefined;
    chunks.push({ seq, stream, atMs, bytes: payload.subarray(at, at + length) });
    at += length;
    last = seq;
  }
  return at === payload.length ? chunks : undefined;
}
