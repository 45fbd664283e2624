const FINAL = 0x80;
/** The first byte of a complete text message: final, without extensions. */
const WHOLE_TEXT = 0x81;
const OPCODE_BITS = 0x0f;
const MASKED = 0x80;
const LENGTH_BITS = 0x7f;
const TWO_BYTE_LENGTH = 126;
const EIGHT_BYTE_LENGTH = 127;
const MAX_TWO_BYTE_LENGTH = 0xffff;
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

  /** Parses the header at `at`. False if it does not end before `end`. */
  read(chunk: Uint8Array, at: number, end: number): boolean {
    return this.readLength(chunk, at, end) && end - at >= this.bytes;
  }

  /** The same, but the mask may be missing. False, with nothing changed, if the length is. */
  readLength(chunk: Uint8Array, at: number, end: number): boolean {
    if (end - at < SHORTEST_BYTES) return false;
    const second = chunk[at + 1]!;
    const short = second & LENGTH_BITS;
    const lengthBytes = short === TWO_BYTE_LENGTH ? 2 : short === EIGHT_BYTE_LENGTH ? 8 : 0;
    const isMasked = second >= MASKED;
    if (end - at < SHORTEST_BYTES + lengthBytes) return false;
    const first = chunk[at]!;
    this.opcode = first & OPCODE_BITS;
    this.isFinal = first >= FINAL;
    this.isMasked = isMasked;
    this.bytes = SHORTEST_BYTES + lengthBytes + (isMasked ? MASK_BYTES : 0);
    this.payloadBytes = lengthBytes === 0 ? short : readLength(chunk, at + SHORTEST_BYTES, lengthBytes);
    return true;
  }
}

/** The header of a whole text message of a server. */
export function plainHeader(length: number): Buffer {
  if (length < TWO_BYTE_LENGTH) return Buffer.from([WHOLE_TEXT, length]);
  if (length <= MAX_TWO_BYTE_LENGTH)
    return Buffer.from([WHOLE_TEXT, TWO_BYTE_LENGTH, length >> 8, length & 0xff]);
  const header = Buffer.alloc(SHORTEST_BYTES + 8);
  header[0] = WHOLE_TEXT;
  header[1] = EIGHT_BYTE_LENGTH;
  header.writeBigUInt64BE(BigInt(length), SHORTEST_BYTES);
  return header;
}

function readLength(chunk: Uint8Array, at: number, bytes: number): number {
  let length = 0;
  for (let index = at; index < at + bytes; index += 1) length = length * 256 + chunk[index]!;
  return length;
}
