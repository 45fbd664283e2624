/**
 * The part of a block that must be written so that a file that ends before it contains it. Of nothing but zeros that is
 * the last one: file systems leave out what is skipped, and read zeros there.
 */
export function partToWrite(block: Uint8Array): { readonly skipped: number; readonly bytes: Uint8Array } {
  const skipped = isZero(block) ? block.length - 1 : 0;
  return { skipped, bytes: skipped === 0 ? block : block.subarray(skipped) };
}

function isZero(block: Uint8Array): boolean {
  // Most blocks that begin with a zero end with something else.
  if (block.length === 0 || block[block.length - 1] !== 0) return false;
  let index = 0;
  while (block[index] === 0) index += 1;
  return index === block.length;
}
