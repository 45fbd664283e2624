import { isUtf8 } from "node:buffer";
import { FrameHeader } from "./frame-header.ts";

/** The first byte of a complete text message: final, without extensions. */
const WHOLE_TEXT = 0x81;
const MASK_BYTES = 4;
/** Longer messages take the usual way. */
const MAX_SMALL_BYTES = 4096;

const header = new FrameHeader();

/**
 * Takes text messages that are one short, complete client frame each from the start of a chunk. Most requests are that,
 * and the way through the WebSocket library costs more than the rest of their handling. Returns the start of the first
 * other frame, or the end of the chunk: anything unusual, incomplete or wrong is left to the library. The chunk must
 * start with a frame, and no message may be in progress.
 */
export function takeSmallMessages(
  chunk: Buffer,
  maxMessageBytes: number,
  deliver: (text: string) => void,
): number {
  const maxBytes = Math.min(MAX_SMALL_BYTES, maxMessageBytes);
  let at = 0;
  while (chunk[at] === WHOLE_TEXT && header.read(chunk, at, chunk.length)) {
    const start = at + header.bytes;
    const end = start + header.payloadBytes;
    if (!header.isMasked || header.payloadBytes > maxBytes || end > chunk.length) break;
    const text = unmaskText(chunk, start, end);
    if (text === undefined) break;
    at = end;
    deliver(text);
  }
  return at;
}

/** Undefined, with the chunk unchanged, if it is not UTF-8. */
function unmaskText(chunk: Buffer, start: number, end: number): string | undefined {
  if (unmask(chunk, start, end) < 0x80) return chunk.toString("latin1", start, end);
  if (isUtf8(chunk.subarray(start, end))) return chunk.toString("utf8", start, end);
  unmask(chunk, start, end);
  return undefined;
}

/** The mask precedes the payload. XOR is its own inverse. Returns the OR of all bytes; below 0x80 means ASCII. */
function unmask(chunk: Buffer, start: number, end: number): number {
  const maskAt = start - MASK_BYTES;
  let bits = 0;
  for (let index = start; index < end; index += 1) {
    const byte = chunk[index]! ^ chunk[maskAt + ((index - start) & 3)]!;
    chunk[index] = byte;
    bits |= byte;
  }
  return bits;
}
