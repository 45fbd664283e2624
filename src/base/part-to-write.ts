const WORD_BYTES = 4;

/**
 * The part of a block that must be written so that a file that ends before the block contains it. For a block of zeros,
 * that is its last byte: file systems leave out skipped ranges and read them as zeros.
 */
export function partToWrite(block: Uint8Array): { readonly skipped: number; readonly bytes: Uint8Array } {
  const skipped = isZero(block) ? block.length - 1 : 0;
  return { skipped, bytes: skipped === 0 ? block : block.subarray(skipped) };
}

function isZero(block: Uint8Array): boolean {
  const { buffer, byteOffset, length } = block;
  // Most blocks that begin with a zero end with something else.
  if (length < WORD_BYTES || block[0] !== 0 || block[length - 1] !== 0) return false;
  // Words are four times as fast as bytes, but must be aligned.
  const first = (WORD_BYTES - (byteOffset % WORD_BYTES)) % WORD_BYTES;
  const count = Math.floor((length - first) / WORD_BYTES);
  const words = new Uint32Array(buffer, byteOffset + first, count);
  for (let index = 0; index < count; index += 1) if (words[index] !== 0) return false;
  const ends = [block.subarray(0, first), block.subarray(first + count * WORD_BYTES)];
  return ends.every((end) => end.every((byte) => byte === 0));
}
