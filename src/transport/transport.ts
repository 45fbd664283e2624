/** A message of JSON whose one long string has not become text. */
export interface LongMessage {
  /** What stands before the string's opening quote, and behind its closing one. */
  readonly head: string;
  readonly tail: string;
  /** What stands between the quotes, escapes and all. Its taker may write over it, but `text` needs it. */
  readonly value: Uint8Array;
  /** The whole message. */
  text(): string;
  /** Gives the memory of the message back, for the next one. Neither `value` nor `text` may be used after that. */
  release(): void;
}

/** Why a connection ends, in the terms of WebSockets. */
export interface Farewell {
  readonly code: number;
  readonly reason: string;
}

/** What a transport tells the connection above it. */
export interface TransportEvents {
  /** One whole message, as text. */
  message(text: string): void;
  /** The same for a message whose bytes are mostly one string, where somebody wants it so. */
  longMessage?(message: LongMessage): void;
  /** The peer sends a longer message than this transport takes, though the wire would allow it. What is sent now still goes out; then comes the end. */
  tooLong?(): void;
  /** The queue of unsent bytes has shrunk after it had reached `HIGH_WATER_BYTES`. */
  drain(): void;
  /** The end, told once. `reason` is absent when the peer simply left. */
  close(reason?: string): void;
}

/**
 * Messages in and out over some carrier. It knows framing and limits, not ids or methods. Nothing is delivered before
 * `open`, so that no message is lost between accepting a peer and serving it.
 */
export interface Transport {
  /** Where messages come from, in the words of an error: `websocket JSON-RPC message from exec-server websocket 127.0.0.1:9`. */
  readonly source: string;
  /** Bytes taken by `send` and not yet handed to the operating system. */
  readonly queuedBytes: number;
  /** Bytes that have come from the peer. Absent where they are not counted. */
  readonly receivedBytes?: number;
  /** True where the carrier can go away without a word and nobody below would notice. A client then asks its server for signs of life. */
  readonly mayGoSilent?: boolean;
  open(events: TransportEvents): void;
  /**
   * Queues a message; after the end it is dropped. Bytes must be UTF-8 and stay untouched until `flushed`, which is called once,
   * also when the message was dropped.
   */
  send(message: string | Uint8Array, flushed?: () => void): void;
  /** The same for a message that nobody waits for: it may go out together with others of this turn of the event loop. */
  sendLazily(message: string | Uint8Array, flushed?: () => void): void;
  /** The same for a message that comes in parts. */
  sendParts(parts: readonly Uint8Array[], flushed?: () => void): void;
  /** Stops and restarts the delivery of messages, so that the peer's writes wait. */
  pause(): void;
  resume(): void;
  /** Asks for a sign that the peer reads. `answered` is called when it comes, which may be never. Absent where the carrier has no such question. */
  ping?(answered: () => void): void;
  /** Sends what is queued, then ends. `farewell` tells the peer why, where the carrier can. */
  close(farewell?: Farewell): void;
  /** Ends at once. */
  destroy(reason?: string): void;
}

/** From this many unsent bytes on bulk output waits for `drain`. */
export const HIGH_WATER_BYTES = 1024 * 1024;
/** `drain` is told when the queue falls to this. */
export const LOW_WATER_BYTES = 256 * 1024;
