import { type NodeBuffer, type NodeBuffers, nodeBuffer } from "./node-buffer.ts";

/** Browsers of today have it; Node has Buffer, which is as fast. */
const bytesFromBase64 = (Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array }).fromBase64;

const NO_SYMBOL = /[^A-Za-z0-9+/]/;
/** V8 knows without looking that a text of one byte for each character has none. */
const WIDE = /[\u0100-\uffff]/;
const PADDING = 61;

export function encodeBase64(bytes: Uint8Array): string {
  if (nodeBuffer) return nodeBuffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
  const { toBase64 } = bytes as { toBase64?: () => string };
  if (toBase64 !== undefined) return toBase64.call(bytes);
  let binary = "";
  for (let start = 0; start < bytes.length; start += 0x8000)
    binary += String.fromCharCode(...bytes.subarray(start, start + 0x8000));
  return btoa(binary);
}

/**
 * Decodes standard, padded base64. For any other text it throws `fail(reason)`; the reason is worded as on the wire.
 */
export function decodeBase64(text: string, fail: (reason: string) => Error): Uint8Array {
  const bytes = decodeStrictly(text);
  if (bytes === undefined) throw fail(describeFault(text));
  return bytes;
}

/** Platform decoders skip or accept input that the wire refuses, so their result is checked. */
function decodeStrictly(text: string): Uint8Array | undefined {
  // Node 20 decodes a wide character as the one that has its low byte.
  if (text.length % 4 !== 0 || WIDE.test(text)) return undefined;
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  const expectedLength = (text.length / 4) * 3 - padding;
  const bytes = decode(text);
  // A skipped character shortens the result. Node also decodes the URL-safe alphabet, which the wire does not allow.
  if (bytes?.length !== expectedLength || text.includes("-") || text.includes("_")) return undefined;
  return padding === 0 || endsCanonically(text, padding) ? bytes : undefined;
}

/** Small enough to stay in the processor's cache. A multiple of 4. */
const PIECE_CHARACTERS = 32 * 1024;

/**
 * Decodes a long base64 text, given as bytes, in place: allocating megabytes costs as much as decoding them. Works in
 * pieces, because one string of the whole text would take as long again. Returns undefined if the text is not standard,
 * padded base64; the text is then restored, and `decodeBase64` can report the fault.
 */
export function decodeBase64InPlace(ascii: Uint8Array): Uint8Array | undefined {
  if (!nodeBuffer || ascii.length % 4 !== 0) return undefined;
  const buffer = nodeBuffer.from(ascii.buffer, ascii.byteOffset, ascii.byteLength);
  const last = Math.max(0, buffer.length - 4);
  const end = decodeStrictly(buffer.toString("latin1", last));
  if (end === undefined) return undefined;
  for (let start = 0; start < last; start += PIECE_CHARACTERS) {
    const piece = buffer.toString("latin1", start, Math.min(last, start + PIECE_CHARACTERS));
    // Node also accepts the URL-safe alphabet. Inner padding and invalid symbols shorten a piece.
    const isOurs = !piece.includes("-") && !piece.includes("_");
    if (isOurs && buffer.write(piece, (start / 4) * 3, "base64") === (piece.length / 4) * 3) continue;
    buffer.write(piece, start, "latin1");
    restoreBase64(buffer, start);
    return undefined;
  }
  buffer.set(end, (last / 4) * 3);
  return buffer.subarray(0, (last / 4) * 3 + end.length);
}

/** Node is slow on text that is not base64, so stop at the first invalid piece. */
function decodeByPieces(buffers: NodeBuffers, text: string): Uint8Array | undefined {
  const bytes = new Uint8Array((text.length / 4) * 3);
  const buffer = buffers.from(bytes.buffer, 0, bytes.length);
  let filled = 0;
  for (let start = 0; start < text.length; start += PIECE_CHARACTERS) {
    if (filled !== (start / 4) * 3) return undefined;
    filled += buffer.write(text.slice(start, start + PIECE_CHARACTERS), filled, "base64");
  }
  return bytes.subarray(0, filled);
}

/** Re-encodes the decoded pieces up to `end`, from the last to the first, so that nothing is overwritten too early. */
function restoreBase64(buffer: NodeBuffer, end: number): void {
  for (let start = end - PIECE_CHARACTERS; start >= 0; start -= PIECE_CHARACTERS) {
    const text = buffer.toString("base64", (start / 4) * 3, ((start + PIECE_CHARACTERS) / 4) * 3);
    buffer.write(text, start, "latin1");
  }
}

function decode(text: string): Uint8Array | undefined {
  if (nodeBuffer && text.length > PIECE_CHARACTERS) return decodeByPieces(nodeBuffer, text);
  if (nodeBuffer) return nodeBuffer.from(text, "base64");
  try {
    return bytesFromBase64?.call(Uint8Array, text) ?? bytesOf(atob(text));
  } catch {
    return undefined;
  }
}

/** A loop, because `Uint8Array.from` takes thirty times as long. */
function bytesOf(binary: string): Uint8Array {
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < binary.length; index += 1) bytes[index] = binary.charCodeAt(index);
  return bytes;
}

function endsCanonically(text: string, padding: number): boolean {
  const last = text.charAt(text.length - padding - 1);
  return padding === 2 ? "AQgw".includes(last) : "AEIMQUYcgkosw048".includes(last);
}

/** Finds the first fault. Offsets count UTF-8 bytes. */
function describeFault(text: string): string {
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
  if (inLastGroup === 1) return `Invalid input length: ${symbols}`;
  if (bytes.length % 4 !== 0) return "Invalid padding";
  return `Invalid last symbol ${bytes[symbols - 1]}, offset ${symbols - 1}.`;
}

function invalidSymbol(bytes: Uint8Array, offset: number): string {
  return `Invalid symbol ${bytes[offset]}, offset ${offset}.`;
}
