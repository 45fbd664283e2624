const FINAL = 0x80;
const OPCODE_BITS = 0x0f;
const MASKED = 0x80;
const LENGTH_BITS = 0x7f;
const TWO_BYTE_LENGTH = 126;
const EIGHT_BYTE_LENGTH = 127;
const MASK_BYTES = 4;
const SHORTEST_BYTES = 2;

/** The longest header: two bytes, eight of length, four of mask. */
export const MAX_HEADER_BYTES = 14;

/**
 * The header of a WebSocket frame. One object is reused for many frames: there are hundreds of thousands per second.
 */
export class FrameHeader {
  opcode = 0;
  isFinal = false;
  isMasked = false;
  payloadBytes = 0;
  /** Length of the header itself. The mask, if any, is its last four bytes. */
  bytes = 0;

  /** Parses the header at `at`. False, with nothing changed, if it does not end before `end`. */
  read(chunk: Uint8Array, at: number, end: number): boolean {
    if (end - at < SHORTEST_BYTES) return false;
    const second = chunk[at + 1]!;
    const short = second & LENGTH_BITS;
    const lengthBytes = short === TWO_BYTE_LENGTH ? 2 : short === EIGHT_BYTE_LENGTH ? 8 : 0;
    const isMasked = second >= MASKED;
    const bytes = SHORTEST_BYTES + lengthBytes + (isMasked ? MASK_BYTES : 0);
    if (end - at < bytes) return false;
    const first = chunk[at]!;
    this.opcode = first & OPCODE_BITS;
    this.isFinal = first >= FINAL;
    this.isMasked = isMasked;
    this.bytes = bytes;
    this.payloadBytes = lengthBytes === 0 ? short : readLength(chunk, at + SHORTEST_BYTES, lengthBytes);
    return true;
  }
}

function readLength(chunk: Uint8Array, at: number, bytes: number): number {
  let length = 0;
  for (let index = at; index < at + bytes; index += 1) length = length * 256 + chunk[index]!;
  return length;
}
