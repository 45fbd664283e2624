import { decodeBase64 } from "../../base/base64.ts";
import { Base64Bytes } from "../../base/base64-bytes.ts";
import { ProtocolError } from "../../base/errors.ts";
import { MAX_MESSAGE_BYTES } from "../../protocol/wire-limits.ts";

/** Space in a message besides its bytes: a path or URL, headers. */
const RESERVED_BYTES = 1024 * 1024;

/** Maximum number of bytes that fit into one message as base64. */
export const MAX_BYTES_IN_MESSAGE = Math.floor((MAX_MESSAGE_BYTES - RESERVED_BYTES) / 4) * 3;

/** Received bytes that may be a part of a message. */
export interface BorrowedBytes {
  readonly bytes: Uint8Array;
  /** Returns the memory of the message for reuse. The bytes must not be used afterwards. Calling it is optional. */
  readonly release?: (() => void) | undefined;
}

/** Decodes bytes that a server sent as `what`. */
export function decodeBytes(text: string, what: string): Uint8Array {
  return keepBytes(borrowBytes(text, what));
}

/** The same without a copy. */
export function borrowBytes(text: string, what: string): BorrowedBytes {
  const received: unknown = text;
  if (received instanceof Base64Bytes) return received;
  return { bytes: decodeBase64(text, (reason) => new ProtocolError(`${what} is not base64: ${reason}`)) };
}

/** Copies borrowed bytes, and returns the originals to their owner. */
export function keepBytes({ bytes, release }: BorrowedBytes): Uint8Array {
  if (release === undefined) return ownBytes(bytes);
  const copy = new Uint8Array(bytes);
  release();
  return copy;
}

/** An answer with the text of its bytes, as the wire's types promise it. */
export function asText<T extends object>(answer: T): T {
  const texts = Object.entries(answer)
    .filter(([, member]) => member instanceof Base64Bytes)
    .map(([name, member]) => [name, (member as Base64Bytes).toJSON()]);
  return texts.length === 0 ? answer : { ...answer, ...Object.fromEntries(texts) };
}

/** Returns bytes that fill their buffer and are a plain Uint8Array, so that a caller may transfer `buffer`. */
export function ownBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer } = bytes;
  const isWhole = buffer instanceof ArrayBuffer && bytes.byteLength === buffer.byteLength;
  return isWhole ? new Uint8Array(buffer) : new Uint8Array(bytes);
}
