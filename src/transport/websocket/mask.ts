import { randomFillSync } from "node:crypto";

export const MASK_BYTES = 4;
const FIN_TEXT = 0x81;
const MASKED_LONG = 0x80 | 127;
const LENGTH_AT = 2;
const MASK_AT = 10;

/** The header of a whole text message of any length, with a random mask at its end. */
export function maskedHeader(length: number): Buffer {
  const header = Buffer.alloc(MASK_AT + MASK_BYTES);
  header[0] = FIN_TEXT;
  header[1] = MASKED_LONG;
  header.writeBigUInt64BE(BigInt(length), LENGTH_AT);
  return randomFillSync(header, MASK_AT);
}

/**
 * Masks or unmasks a payload in place, four bytes at a time. `mask` is a number whose lowest byte is the mask's first;
 * the payload must begin at a multiple of four in its memory.
 */
export function applyMask(bytes: Uint8Array, mask: number): void {
  const words = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2);
  for (let index = 0; index < words.length; index += 1) words[index] = words[index]! ^ mask;
  for (let index = words.length * 4; index < bytes.length; index += 1)
    bytes[index] = bytes[index]! ^ ((mask >>> ((index % 4) * 8)) & 0xff);
}
