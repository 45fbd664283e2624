import type { IdText } from "../protocol/envelope.ts";

/** Bytes that a member of a request stands for, where they were decoded from the message before it became text. */
export interface Attachment {
  readonly bytes: Uint8Array;
  /** Lets the memory be used for the next message. Whoever keeps the bytes need not call it. */
  release(): void;
}

/** A request of the peer, before its parameters have been checked. */
export interface IncomingRequest {
  readonly id: IdText;
  readonly method: string;
  readonly params: unknown;
  readonly attachment?: Attachment;
}
