// `Buffer` is named through globalThis, because this code also runs where there is none.
interface NodeBuffer extends Uint8Array {
  toString(encoding?: "base64"): string;
}
interface NodeBufferConstructor {
  from(text: string, encoding: "base64"): NodeBuffer;
  from(buffer: ArrayBufferLike, offset: number, length: number): NodeBuffer;
}
const nodeBuffer = (globalThis as { Buffer?: NodeBufferConstructor }).Buffer;

const NO_SYMBOL = /[^A-Za-z0-9+/]/;
const PADDING = 61;

/** Text that is not standard, padded base64. The message is the wire's. */
export class Base64Error extends Error {}

export function encodeBase64(bytes: Uint8Array): string {
  if (nodeBuffer) return nodeBuffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
  let binary = "";
  for (let start = 0; start < bytes.length; start += 0x8000)
    binary += String.fromCharCode(...bytes.subarray(start, start + 0x8000));
  return btoa(binary);
}

/** Strict: the decoders of the platform skip or accept what the wire refuses, so what they return is checked. */
export function decodeBase64(text: string): Uint8Array {
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  const expectedLength = (text.length / 4) * 3 - padding;
  if (text.length % 4 !== 0) throw describeFault(text);
  const bytes = decode(text);
  // A skipped character makes the result shorter. The URL-safe alphabet is decoded by Node, but is not ours.
  if (bytes === undefined || bytes.length !== expectedLength || text.includes("-") || text.includes("_"))
    throw describeFault(text);
  if (padding > 0 && !endsCanonically(text, padding)) throw describeFault(text);
  return bytes;
}

function decode(text: string): Uint8Array | undefined {
  if (nodeBuffer) return nodeBuffer.from(text, "base64");
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function endsCanonically(text: string, padding: number): boolean {
  const last = text.charAt(text.length - padding - 1);
  return padding === 2 ? "AQgw".includes(last) : "AEIMQUYcgkosw048".includes(last);
}

/** Finds the first fault, counting bytes of UTF-8. */
function describeFault(text: string): Base64Error {
  const bytes = new TextEncoder().encode(text);
  const isSymbol = (byte: number): boolean => !NO_SYMBOL.test(String.fromCharCode(byte));
  const end = bytes.findIndex((byte) => !isSymbol(byte));
  const symbols = end < 0 ? bytes.length : end;
  const inLastGroup = symbols % 4;
  if (end >= 0) {
    const after = bytes.findIndex((byte, offset) => offset >= end && byte !== PADDING);
    if (after >= 0 && !isSymbol(bytes[after]!)) return invalidSymbol(bytes, after);
    const tooMany = inLastGroup < 2 || bytes.length - end > 4 - inLastGroup;
    if (after >= 0 || tooMany) return invalidSymbol(bytes, end);
  }
  if (inLastGroup === 1) return new Base64Error(`Invalid input length: ${symbols}`);
  if (bytes.length % 4 !== 0) return new Base64Error("Invalid padding");
  return new Base64Error(`Invalid last symbol ${bytes[symbols - 1]}, offset ${symbols - 1}.`);
}

function invalidSymbol(bytes: Uint8Array, offset: number): Base64Error {
  return new Base64Error(`Invalid symbol ${bytes[offset]}, offset ${offset}.`);
}
