import { isUtf8 } from "node:buffer";

const FIN_TEXT = 0x81;
const MASKED = 0x80;
const LENGTH_BITS = 0x7f;
const TWO_BYTE_LENGTH = 126;
const EIGHT_BYTE_LENGTH = 127;
const MASK_BYTES = 4;
const SMALLEST_FRAME_BYTES = 6;
/** Longer ones are not what this is for. */
const MAX_SMALL_BYTES = 4096;

/**
 * Takes text messages that are one short frame of a client each, and whole, from the beginning of a chunk. Most requests are that, and the way through the
 * WebSocket library costs more than the rest of their handling. Returns where the first other frame begins, or the chunk ends: whatever is unusual, unfinished
 * or wrong is left to the library. The chunk must begin with a frame, and no message may be under way.
 */
export function takeSmallMessages(
  chunk: Buffer,
  maxMessageBytes: number,
  deliver: (text: string) => void,
): number {
  let at = 0;
  while (chunk.length - at >= SMALLEST_FRAME_BYTES && chunk[at] === FIN_TEXT) {
    const second = chunk[at + 1]!;
    let length = second & LENGTH_BITS;
    if (second < MASKED || length === EIGHT_BYTE_LENGTH) break;
    let maskAt = at + 2;
    if (length === TWO_BYTE_LENGTH) {
      length = (chunk[at + 2]! << 8) | chunk[at + 3]!;
      maskAt += 2;
    }
    const start = maskAt + MASK_BYTES;
    const end = start + length;
    if (end > chunk.length || length > MAX_SMALL_BYTES || length > maxMessageBytes) break;
    const text = unmaskText(chunk, maskAt, end);
    if (text === undefined) break;
    at = end;
    deliver(text);
  }
  return at;
}

/** Undefined, and everything is as it was, when it is not UTF-8. */
function unmaskText(chunk: Buffer, maskAt: number, end: number): string | undefined {
  const start = maskAt + MASK_BYTES;
  if (unmask(chunk, maskAt, end) < 0x80) return chunk.toString("latin1", start, end);
  if (isUtf8(chunk.subarray(start, end))) return chunk.toString("utf8", start, end);
  unmask(chunk, maskAt, end);
  return undefined;
}

/** Doing it twice undoes it. Returns all bits that occur. */
function unmask(chunk: Buffer, maskAt: number, end: number): number {
  const start = maskAt + MASK_BYTES;
  let bits = 0;
  for (let index = start; index < end; index += 1) {
    const byte = chunk[index]! ^ chunk[maskAt + ((index - start) & 3)]!;
    chunk[index] = byte;
    bits |= byte;
  }
  return bits;
}
