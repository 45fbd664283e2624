import { libc } from "./libc.ts";

/** How long bytes are as base64. */
export function base64Length(bytes: number): number {
  return Math.ceil(bytes / 3) * 4;
}

/**
 * Writes bytes as base64 into a buffer, which must have room for them; returns where they end there. Through a string, which is the only way that Node offers,
 * it takes more than twice as long for bulk, half of it for the garbage collector.
 */
export function base64Into(target: Buffer, start: number, bytes: Uint8Array): number {
  if (start + base64Length(bytes.length) > target.length)
    throw new RangeError("no room for the base64 of these bytes");
  const encode = nativeBase64();
  if (encode !== undefined) return start + encode(bytes, bytes.length, target.subarray(start), 0);
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return start + target.write(view.toString("base64"), start, "latin1");
}

/** Bytes as base64, between two pieces of ASCII. Made in `target` where one is given, which must have room for them. */
export function base64Between(before: string, bytes: Uint8Array, after: string, target?: Buffer): Buffer {
  const buffer = target ?? Buffer.allocUnsafeSlow(before.length + base64Length(bytes.length) + after.length);
  const start = buffer.write(before, "latin1");
  const end = base64Into(buffer, start, bytes);
  return buffer.subarray(0, end + buffer.write(after, end, "latin1"));
}

function nativeBase64(): ReturnType<typeof libc>["base64"] {
  // Elsewhere there is no C library for us; what does not need one still works.
  return process.platform === "linux" ? libc().base64 : undefined;
}
