import { decodeText } from "./decode-text.ts";
import type { LongMessage } from "./transport.ts";

/** From here on it pays to look for a long string. */
const LONG_MESSAGE_BYTES = 64 * 1024;
/** What is left of a message without its long string has to be little, or nothing is gained. */
const MAX_REST_BYTES = 16 * 1024;
const QUOTE = 34;
const BACKSLASH = 92;

/** Takes the one long string out of a message of valid UTF-8. `release` gives its memory back. Undefined when there is none that stands near both ends. */
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

/** Where the closing quote is; -1 when there is none, or the string is long and has escapes, which no base64 has. */
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
