import { decodeBase64 } from "../../base/base64.ts";
import { ProtocolError } from "../../base/errors.ts";
import { MAX_MESSAGE_BYTES } from "../../protocol/wire-limits.ts";

/** Room in a message besides its bytes: a path or URL, headers. */
const RESERVED_BYTES = 1024 * 1024;

/** Maximum number of bytes that fit into one message as base64. */
export const MAX_BYTES_IN_MESSAGE = Math.floor((MAX_MESSAGE_BYTES - RESERVED_BYTES) / 4) * 3;

/** Decodes bytes that a server sent as `what`. */
export function decodeBytes(text: string, what: string): Uint8Array {
  return ownBytes(decodeBase64(text, (reason) => new ProtocolError(`${what} is not base64: ${reason}`)));
}

/** Returns bytes that fill their buffer and are a plain Uint8Array, so that a caller may transfer `buffer`. */
export function ownBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer } = bytes;
  const isWhole = buffer instanceof ArrayBuffer && bytes.byteLength === buffer.byteLength;
  return isWhole ? new Uint8Array(buffer) : new Uint8Array(bytes);
}
