import { decodeText } from "./decode-text.ts";
import type { LongMessage } from "./transport.ts";

/** From this length on, looking for a long string pays off. */
const LONG_MESSAGE_BYTES = 64 * 1024;
/** The rest of the message must be short, or nothing is gained. */
const MAX_REST_BYTES = 16 * 1024;
const QUOTE = 34;
const BACKSLASH = 92;

/**
 * Extracts the one long string from a message of valid UTF-8. `release` returns its memory. Undefined if there is none
 * that spans almost the whole message.
 */
export function liftLongString(bytes: Buffer, release: () => void = () => {}): LongMessage | undefined {
  if (bytes.length < LONG_MESSAGE_BYTES) return undefined;
  let start = bytes.indexOf(QUOTE);
  while (start >= 0 && start < MAX_REST_BYTES) {
    const end = stringEnd(bytes, start);
    if (end < 0) return undefined;
    if (end - start + 2 * MAX_REST_BYTES > bytes.length)
      return {
        head: bytes.toString("utf8", 0, start),
        value: bytes.subarray(start + 1, end),
        tail: bytes.toString("utf8", end + 1),
        text: () => decodeText(bytes),
        release,
      };
    start = bytes.indexOf(QUOTE, end + 1);
  }
  return undefined;
}

/** Index of the closing quote; -1 if there is none, or if a long string contains escapes, which base64 never does. */
function stringEnd(bytes: Buffer, start: number): number {
  let end = bytes.indexOf(QUOTE, start + 1);
  while (end >= 0 && bytes[end - 1] === BACKSLASH) {
    if (end - start > MAX_REST_BYTES) return -1;
    if (!isEscaped(bytes, end)) break;
    end = bytes.indexOf(QUOTE, end + 1);
  }
  return end;
}

function isEscaped(bytes: Buffer, index: number): boolean {
  let backslashes = 0;
  while (bytes[index - 1 - backslashes] === BACKSLASH) backslashes += 1;
  return backslashes % 2 === 1;
}
