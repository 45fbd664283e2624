import type { Encoding } from "../encodings.ts";

const LINE_FEED = 10;
/** A character of UTF-8 has up to three bytes after its first one. */
const MAX_CONTINUATIONS = 3;

/** Where the first whole line of a part begins; without a line break, its first whole character. */
export function firstLineIn(bytes: Uint8Array, encoding: Encoding): number {
  const at = firstBreak(bytes, encoding);
  const unit = unitOf(encoding);
  // A break at the very end would leave nothing.
  return at >= 0 && at + unit < bytes.length ? at + unit : firstCharacterIn(bytes, encoding);
}

/** Where the last whole line of a part ends; without a line break, its last whole character. */
export function lastLineIn(bytes: Uint8Array, encoding: Encoding): number {
  const at = lastBreak(bytes, encoding);
  return at >= 0 ? at + unitOf(encoding) : lastCharacterIn(bytes, encoding);
}

/** Size of the smallest piece that has a meaning. */
export function unitOf(encoding: Encoding): 1 | 2 {
  return encoding.startsWith("utf-16") ? 2 : 1;
}

function firstBreak(bytes: Uint8Array, encoding: Encoding): number {
  if (unitOf(encoding) === 1) return bytes.indexOf(LINE_FEED);
  for (let at = 0; at + 1 < bytes.length; at += 2) if (codeAt(bytes, at, encoding) === LINE_FEED) return at;
  return -1;
}

function lastBreak(bytes: Uint8Array, encoding: Encoding): number {
  if (unitOf(encoding) === 1) return bytes.lastIndexOf(LINE_FEED);
  for (let at = (bytes.length & ~1) - 2; at >= 0; at -= 2)
    if (codeAt(bytes, at, encoding) === LINE_FEED) return at;
  return -1;
}

function firstCharacterIn(bytes: Uint8Array, encoding: Encoding): number {
  if (unitOf(encoding) === 2) return isSurrogate(codeAt(bytes, 0, encoding), 0xdc00) ? 2 : 0;
  if (encoding !== "utf-8") return 0;
  let at = 0;
  while (at < MAX_CONTINUATIONS && isContinuation(bytes[at])) at++;
  return at;
}

function lastCharacterIn(bytes: Uint8Array, encoding: Encoding): number {
  if (unitOf(encoding) === 2) {
    const end = bytes.length & ~1;
    return end > 2 && isSurrogate(codeAt(bytes, end - 2, encoding), 0xd800) ? end - 2 : end;
  }
  if (encoding !== "utf-8") return bytes.length;
  let at = bytes.length - 1;
  while (at > bytes.length - 1 - MAX_CONTINUATIONS && isContinuation(bytes[at])) at--;
  return at > 0 && at + lengthOf(bytes[at]!) > bytes.length ? at : bytes.length;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

/** Length of the character that a byte begins. */
function lengthOf(byte: number): number {
  if (byte < 0xc0) return 1;
  if (byte < 0xe0) return 2;
  return byte < 0xf0 ? 3 : 4;
}

function codeAt(bytes: Uint8Array, at: number, encoding: Encoding): number {
  const [one = 0, other = 0] = bytes.subarray(at, at + 2);
  return encoding === "utf-16le" ? one | (other << 8) : (one << 8) | other;
}

function isSurrogate(code: number, first: 0xd800 | 0xdc00): boolean {
  return (code & 0xfc00) === first;
}
