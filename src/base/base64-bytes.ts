import { encodeBase64 } from "./base64.ts";

/** Below this size, text costs no more than bytes. */
const LONG_BYTES = 64 * 1024;

/**
 * Bytes that replace their base64 text in a message: megabytes are encoded straight into the message, and decoded in
 * place, without ever becoming text. Serializing it to JSON yields the text.
 */
export class Base64Bytes {
  readonly bytes: Uint8Array;
  /** Returns the memory of received bytes for reuse. They must not be used afterwards. Calling it is optional. */
  readonly release: (() => void) | undefined;

  constructor(bytes: Uint8Array, release?: () => void) {
    this.bytes = bytes;
    this.release = release;
  }

  toJSON(): string {
    return encodeBase64(this.bytes);
  }
}

/** The base64 of bytes for a request. The bytes must stay unchanged until the request is answered. */
export function base64Param(bytes: Uint8Array): string {
  if (bytes.length < LONG_BYTES) return encodeBase64(bytes);
  // The wire's types know only its text, which is what the peer gets.
  return new Base64Bytes(bytes) as unknown as string;
}
