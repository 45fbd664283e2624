/**
 * A multiple of 3. Pieces from 24 to 48 KiB are the fastest: shorter ones add calls, and longer strings survive in the
 * garbage collector's youngest generation.
 */
const PIECE_BYTES = 24 * 1024;

/** Length of bytes as base64. */
export function base64Length(bytes: number): number {
  return Math.ceil(bytes / 3) * 4;
}

/** Writes bytes as base64 into a buffer, which must have room for them, and returns where they end. */
export function base64Into(target: Buffer, start: number, bytes: Uint8Array): number {
  if (start + base64Length(bytes.length) > target.length)
    throw new RangeError("no room for the base64 of these bytes");
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let end = start;
  for (let at = 0; at < view.length; at += PIECE_BYTES)
    end += target.write(view.toString("base64", at, at + PIECE_BYTES), end, "latin1");
  return end;
}

/** Encodes bytes as base64 between two pieces of ASCII, into `target` if given, which must have room for them. */
export function base64Between(before: string, bytes: Uint8Array, after: string, target?: Buffer): Buffer {
  const buffer = target ?? Buffer.allocUnsafeSlow(before.length + base64Length(bytes.length) + after.length);
  const start = buffer.write(before, "latin1");
  const end = base64Into(buffer, start, bytes);
  return buffer.subarray(0, end + buffer.write(after, end, "latin1"));
}
