import type { IdText } from "../protocol/envelope.ts";

/** Bytes of a member of a request that were decoded before the message became text. */
export interface Attachment {
  readonly bytes: Uint8Array;
  /** Frees the memory for the next message. Not needed by a handler that keeps the bytes. */
  release(): void;
}

/** A request from the peer, before its parameters have been validated. */
export interface IncomingRequest {
  readonly id: IdText;
  readonly method: string;
  readonly params: unknown;
  readonly attachment?: Attachment;
  /** See `Message`. */
  readonly traceparent?: string;
}
