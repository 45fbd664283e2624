import { stringEnd } from "../base/json-string.ts";
import { decodeText } from "./decode-text.ts";
import type { LongMessage } from "./transport.ts";

/** For longer messages, looking for a long string pays off. */
const LONG_MESSAGE_BYTES = 64 * 1024;
/** The rest of the message must be short, or nothing is gained. */
const MAX_REST_BYTES = 16 * 1024;
const QUOTE = 34;
const BACKSLASH = 92;

/**
 * Extracts the one long string from a message of valid UTF-8. `release` returns its memory. Undefined if no string
 * spans almost the whole message.
 */
export function liftLongString(bytes: Buffer, release: () => void = () => {}): LongMessage | undefined {
  if (bytes.length < LONG_MESSAGE_BYTES) return undefined;
  // A string that ends within the beginning is not the long one. As Latin-1, each byte is one character.
  const beginning = bytes.toString("latin1", 0, MAX_REST_BYTES);
  let start = beginning.indexOf('"');
  for (let end = 0; start >= 0; start = beginning.indexOf('"', end + 1)) {
    end = stringEnd(beginning, start);
    if (end < 0) return lift(bytes, start, release);
  }
  return undefined;
}

/**
 * Undefined if the string has no end, ends far from the end of the message, or contains a quote, which base64 never
 * does.
 */
function lift(bytes: Buffer, start: number, release: () => void): LongMessage | undefined {
  const end = bytes.indexOf(QUOTE, start + 1);
  if (end < 0 || bytes[end - 1] === BACKSLASH || bytes.length - end > MAX_REST_BYTES) return undefined;
  return {
    head: bytes.toString("utf8", 0, start),
    value: bytes.subarray(start + 1, end),
    tail: bytes.toString("utf8", end + 1),
    text: () => decodeText(bytes),
    release,
  };
}
