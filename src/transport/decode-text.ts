import { isAscii, transcode } from "node:buffer";

/** For longer text, checking for ASCII first pays off. */
const LONG_BYTES = 16 * 1024;

/** Non-ASCII text takes twice the memory and is copied more often. A legitimate message of this length is base64. */
const MAX_WIDE_BYTES = 24 * 1024 * 1024;
/** Replaces a message that is not decoded. It is not JSON, so the peer gets an error. */
export const NO_TEXT = "\uFFFD";

/** Decodes valid UTF-8. */
export function decodeText(bytes: Buffer): string {
  if (bytes.length <= LONG_BYTES) return bytes.toString("utf8");
  if (isAscii(bytes)) return bytes.toString("latin1");
  if (bytes.length > MAX_WIDE_BYTES) return NO_TEXT;
  // V8 takes five times as long as Node's conversion to UTF-16.
  return transcode(bytes, "utf8", "utf16le").toString("utf16le");
}
