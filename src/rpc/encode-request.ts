import { messageOf, UsageError } from "../base/errors.ts";
import { formatRequest, type IdText } from "../protocol/envelope.ts";
import { MAX_JSON_VALUES, MAX_MESSAGE_BYTES } from "../protocol/limits.ts";

// `Buffer` is named through globalThis, because this code also runs where there is none.
const nodeBuffer = (globalThis as { Buffer?: { byteLength(text: string): number } }).Buffer;
/** How JSON spells a half of a pair begins so. */
const ESCAPED_D = "\\ud";
const LAST_OF_PLANE = "7";
const BACKSLASH = 92;
/** What envelope and members of the params add to the values of the params themselves, at least. */
const ENVELOPE_VALUES = 3;

/**
 * Makes the text of a request. What a server could not read is the caller's mistake and is refused here: sent, it would be answered to nobody, or end the connection
 * for all others. Short messages without escapes, which almost all are, cost two looks.
 */
export function encodeRequest(id: IdText, method: string, params: unknown): string {
  const text = toText(id, method, params);
  if (spellsSurrogate(text))
    throw unsendable(method, "it holds text with half of a surrogate pair, which has no UTF-8 form");
  // A character takes up to three bytes, a value at least two characters.
  if (text.length > MAX_MESSAGE_BYTES / 3 && utf8Length(text) > MAX_MESSAGE_BYTES)
    throw unsendable(method, `it is longer than ${MAX_MESSAGE_BYTES} bytes`);
  if (text.length > MAX_JSON_VALUES * 2 && hasMoreValues(params, MAX_JSON_VALUES - ENVELOPE_VALUES))
    throw unsendable(method, `it has more than ${MAX_JSON_VALUES} values`);
  return text;
}

/** An escaped backslash before `ud800` is text. */
function spellsSurrogate(text: string): boolean {
  for (let at = text.indexOf(ESCAPED_D); at >= 0; at = text.indexOf(ESCAPED_D, at + ESCAPED_D.length)) {
    let start = at;
    while (text.charCodeAt(start - 1) === BACKSLASH) start -= 1;
    if ((at - start) % 2 === 0 && text.charAt(at + ESCAPED_D.length) > LAST_OF_PLANE) return true;
  }
  return false;
}

function toText(id: IdText, method: string, params: unknown): string {
  try {
    return formatRequest(id, method, params);
  } catch (error) {
    // A cycle, a BigInt, nesting or text beyond what the platform can do.
    throw unsendable(method, messageOf(error));
  }
}

function unsendable(method: string, why: string): UsageError {
  return new UsageError(`${method} cannot be sent: ${why}`);
}

function utf8Length(text: string): number {
  if (text.length > MAX_MESSAGE_BYTES) return text.length;
  if (nodeBuffer !== undefined) return nodeBuffer.byteLength(text);
  let bytes = text.length;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code < 0x80) continue;
    // Each half of a pair counts two of the four bytes.
    bytes += code < 0x800 || (code >= 0xd800 && code < 0xe000) ? 1 : 2;
  }
  return bytes;
}

function hasMoreValues(params: unknown, most: number): boolean {
  const unseen: unknown[] = [params];
  let values = 0;
  while (unseen.length > 0) {
    const value = unseen.pop();
    values += 1;
    if (typeof value === "object" && value !== null)
      for (const member of Object.values(value)) if (member !== undefined) unseen.push(member);
    if (values + unseen.length > most) return true;
  }
  return false;
}
