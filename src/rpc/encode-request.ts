import { Base64Bytes } from "../base/base64-bytes.ts";
import { messageOf, UsageError } from "../base/errors.ts";
import { nodeBuffer } from "../base/node-buffer.ts";
import { formatRequest, type IdText } from "../protocol/envelope.ts";
import { MAX_DIFFERENT_KEYS, MAX_JSON_VALUES, MAX_MESSAGE_BYTES } from "../protocol/wire-limits.ts";

/** Start of the JSON escape of half a surrogate pair: no other character of that plane is escaped. */
const ESCAPED_D = "\\ud";
const BACKSLASH = 92;
/** The members of the envelope. */
const ENVELOPE_KEYS = ["id", "method", "params"];
/** A shorter message cannot have too many values or keys: a value takes two characters, a member four. */
const MANY_VALUES_CHARACTERS = Math.min(MAX_JSON_VALUES * 2, MAX_DIFFERENT_KEYS * 4);
/** Minimum number of values that the envelope and the params object add to the members of the params. */
const ENVELOPE_VALUES = 3;

/**
 * Encodes a request. A request that no server could parse is the caller's mistake and is refused here: if sent, it
 * would get no answer, or end the connection for all other requests. Short messages without escapes, which are the
 * common case, need only two checks.
 */
export function encodeRequest(id: IdText, method: string, params: unknown): string {
  const text = toText(id, method, params);
  if (spellsSurrogate(text))
    throw unsendable(method, "it contains half of a surrogate pair, which UTF-8 cannot encode");
  // A character takes up to three bytes.
  if (text.length > MAX_MESSAGE_BYTES / 3 && utf8Length(text) > MAX_MESSAGE_BYTES)
    throw unsendable(method, `it is longer than ${MAX_MESSAGE_BYTES} bytes`);
  if (text.length > MANY_VALUES_CHARACTERS) refuseManyValues(method, params);
  return text;
}

/** An escaped backslash before `ud800` is plain text. */
function spellsSurrogate(text: string): boolean {
  for (let at = text.indexOf(ESCAPED_D); at >= 0; at = text.indexOf(ESCAPED_D, at + ESCAPED_D.length)) {
    let start = at;
    while (text.charCodeAt(start - 1) === BACKSLASH) start -= 1;
    if ((at - start) % 2 === 0) return true;
  }
  return false;
}

function toText(id: IdText, method: string, params: unknown): string {
  try {
    return formatRequest(id, method, params);
  } catch (error) {
    // A cycle, a BigInt, or nesting or text beyond the platform's limits.
    throw unsendable(method, messageOf(error));
  }
}

function unsendable(method: string, why: string): UsageError {
  return new UsageError(`${method} cannot be sent: ${why}`);
}

function utf8Length(text: string): number {
  if (nodeBuffer !== undefined) return nodeBuffer.byteLength(text);
  let bytes = text.length;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code < 0x80) continue;
    // Each surrogate of a pair accounts for two of the four bytes.
    bytes += code < 0x800 || (code >= 0xd800 && code < 0xe000) ? 1 : 2;
  }
  return bytes;
}

function refuseManyValues(method: string, params: unknown): void {
  const unseen: unknown[] = [params];
  const keys = new Set(ENVELOPE_KEYS);
  let values = ENVELOPE_VALUES;
  while (unseen.length > 0) {
    const value = unseen.pop();
    values += 1;
    // Bytes become one text.
    if (typeof value === "object" && value !== null && !(value instanceof Base64Bytes))
      for (const [key, member] of Object.entries(value)) {
        if (member === undefined) continue;
        unseen.push(member);
        if (!Array.isArray(value)) keys.add(key);
      }
    if (values + unseen.length > MAX_JSON_VALUES)
      throw unsendable(method, `it has more than ${MAX_JSON_VALUES} values`);
    if (keys.size > MAX_DIFFERENT_KEYS)
      throw unsendable(method, `it has more than ${MAX_DIFFERENT_KEYS} different keys`);
  }
}
