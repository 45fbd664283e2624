import type { StreamName } from "../output-log.ts";
import { type SpooledChunk, streamCode, streamNamed } from "./spool-record.ts";

const BLOCK_BYTES = 256 * 1024;
/** Key of the process, length and stream, number, time. */
const ENTRY_BYTES = 28;

/** Output of any processes, on its way to the thread of the spool. */
export class SpoolBlock {
  readonly buffer: ArrayBuffer;
  readonly #bytes: Buffer;
  #length = 0;

  constructor(buffer: ArrayBuffer = new ArrayBuffer(BLOCK_BYTES)) {
    this.buffer = buffer;
    this.#bytes = Buffer.from(buffer);
  }

  get length(): number {
    return this.#length;
  }

  /** False if there is no room for it. Numbers and times of a process must not depend on each other: clocks jump. */
  add(key: number, seq: number, stream: StreamName, atMs: number, output: Uint8Array): boolean {
    const at = this.#length;
    if (at + ENTRY_BYTES + output.length > BLOCK_BYTES) return false;
    const bytes = this.#bytes;
    bytes.writeUInt32LE(key, at);
    bytes.writeUInt32LE(streamCode(stream), at + 4);
    bytes.writeUInt32LE(output.length, at + 8);
    bytes.writeDoubleLE(seq, at + 12);
    bytes.writeDoubleLE(atMs, at + 20);
    bytes.set(output, at + ENTRY_BYTES);
    this.#length = at + ENTRY_BYTES + output.length;
    return true;
  }
}

/** The output in a block, by process. */
export function readBlock(buffer: ArrayBuffer, length: number): Map<number, SpooledChunk[]> {
  const bytes = Buffer.from(buffer, 0, length);
  const byProcess = new Map<number, SpooledChunk[]>();
  for (let at = 0; at < length; ) {
    const key = bytes.readUInt32LE(at);
    const stream = streamNamed(bytes.readUInt32LE(at + 4))!;
    const end = at + ENTRY_BYTES + bytes.readUInt32LE(at + 8);
    const chunk: SpooledChunk = {
      seq: bytes.readDoubleLE(at + 12),
      stream,
      atMs: bytes.readDoubleLE(at + 20),
      bytes: bytes.subarray(at + ENTRY_BYTES, end),
    };
    const chunks = byProcess.get(key);
    if (chunks === undefined) byProcess.set(key, [chunk]);
    else chunks.push(chunk);
    at = end;
  }
  return byProcess;
}
