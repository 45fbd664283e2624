import { type Base64Function, libc } from "./libc.ts";

/** Length of bytes as base64. */
export function base64Length(bytes: number): number {
  return Math.ceil(bytes / 3) * 4;
}

/**
 * Writes bytes as base64 into a buffer, which must have room for them, and returns where they end. Uses Node's internal
 * encoder where this Node exports it.
 */
export function base64Into(target: Buffer, start: number, bytes: Uint8Array): number {
  if (start + base64Length(bytes.length) > target.length)
    throw new RangeError("no room for the base64 of these bytes");
  const encode = nativeBase64();
  if (encode === undefined) return base64ThroughStrings(target, start, bytes);
  return start + encode(bytes, bytes.length, target.subarray(start), 0);
}

/** A multiple of 3. Longer strings outlive the youngest generation of the garbage collector, which doubles the time. */
const PIECE_BYTES = 12 * 1024;

/** The only way that Node offers. It takes several times as long. */
export function base64ThroughStrings(target: Buffer, start: number, bytes: Uint8Array): number {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let end = start;
  for (let at = 0; at < view.length; at += PIECE_BYTES)
    end += target.write(view.toString("base64", at, at + PIECE_BYTES), end, "latin1");
  return end;
}

/** Bytes as base64, between two pieces of ASCII. Written into `target` if given, which must have room for them. */
export function base64Between(before: string, bytes: Uint8Array, after: string, target?: Buffer): Buffer {
  const buffer = target ?? Buffer.allocUnsafeSlow(before.length + base64Length(bytes.length) + after.length);
  const start = buffer.write(before, "latin1");
  const end = base64Into(buffer, start, bytes);
  return buffer.subarray(0, end + buffer.write(after, end, "latin1"));
}

function nativeBase64(): Base64Function | undefined {
  // Other systems have no supported C library; everything else still works there.
  return process.platform === "linux" ? libc().base64 : undefined;
}
