import { isAscii, transcode } from "node:buffer";

/** From here on it pays to look first. */
const LONG_BYTES = 16 * 1024;

/** Other text than ASCII is twice as long in memory, and copied more often. What is as long as this is base64 in earnest. */
const MAX_WIDE_BYTES = 24 * 1024 * 1024;
/** Stands for a message that is not made text. It is no JSON, so the peer is told. */
export const NO_TEXT = "\uFFFD";

/** Makes text of valid UTF-8. */
export function decodeText(bytes: Buffer): string {
  if (bytes.length <= LONG_BYTES) return bytes.toString("utf8");
  if (isAscii(bytes)) return bytes.toString("latin1");
  if (bytes.length > MAX_WIDE_BYTES) return NO_TEXT;
  // It takes V8 five times as long as it takes Node to make UTF-16 of it first.
  return transcode(bytes, "utf8", "utf16le").toString("utf16le");
}
