/** A JSON message whose one long string has not been decoded. */
export interface LongMessage {
  /** Text before the string's opening quote, and after its closing quote. */
  readonly head: string;
  readonly tail: string;
  /** Raw bytes between the quotes, including escapes. The receiver may overwrite them, but `text` needs them. */
  readonly value: Uint8Array;
  /** The whole message. */
  text(): string;
  /** Returns the memory of the message for reuse. Neither `value` nor `text` may be used afterwards. */
  release(): void;
}

/** Why a connection ends, in WebSocket terms. */
export interface Farewell {
  readonly code: number;
  readonly reason: string;
}

/** Events of a transport for the connection above it. */
export interface TransportEvents {
  /** One whole message, as text. */
  message(text: string): void;
  /** The same for a message that is mostly one string, if the receiver implements it. */
  longMessage?(message: LongMessage): void;
  /**
   * The peer sends a message longer than this transport's limit, though the protocol would allow it. Data sent now is
   * still flushed; then the transport ends.
   */
  tooLong?(): void;
  /**
   * The peer sends nothing more, but still reads, until `close` is called. A receiver that does not implement it gets
   * `close` instead. Only carriers whose directions end separately call it.
   */
  inputEnd?(): void;
  /** The queue of unsent bytes has drained after it had reached `HIGH_WATER_BYTES`. */
  drain(): void;
  /**
   * The end, reported once. `reason` is absent if the peer closed normally; `code` is the peer's close code, if the
   * carrier has such codes.
   */
  close(reason?: string, code?: number): void;
}

/**
 * Messages in and out over some carrier. It handles framing and limits, not ids or methods. Nothing is delivered before
 * `open`, so that no message is lost between accepting a peer and serving it.
 */
export interface Transport {
  /** Source of messages, for errors: `websocket JSON-RPC message from exec-server websocket 127.0.0.1:9`. */
  readonly source: string;
  /** Bytes accepted by `send` but not yet handed to the operating system. */
  readonly queuedBytes: number;
  /** Bytes received from the peer. Absent if they are not counted. */
  readonly receivedBytes?: number;
  /** Bytes sent to the peer, likewise. */
  readonly sentBytes?: number;
  /** Address of the peer, such as `127.0.0.1:5023`, or `unix`. Absent if it has none. */
  readonly from?: string;
  /**
   * True if the carrier can fail silently and nothing below would notice. A client then checks its server for signs of
   * life.
   */
  readonly mayGoSilent?: boolean;
  open(events: TransportEvents): void;
  /**
   * Queues a message; after the end it is dropped. Bytes must be UTF-8 and stay unchanged until `flushed`, which is
   * called exactly once, even for a dropped message. A client's transport may change them.
   */
  send(message: string | Uint8Array, flushed?: () => void): void;
  /**
   * Like `send`, for a message that is not urgent: it may be sent together with others of this turn of the event loop.
   */
  sendLazily(message: string | Uint8Array, flushed?: () => void): void;
  /** Like `send`, for a message in parts. */
  sendParts(parts: readonly Uint8Array[], flushed?: () => void): void;
  /** Stops and restarts delivery of messages, so that back-pressure reaches the peer. */
  pause(): void;
  resume(): void;
  /** Pings the peer. `answered` is called when it responds, which may be never. Absent if the carrier has no ping. */
  ping?(answered: () => void): void;
  /** Sends what is queued, then ends. `farewell` gives the peer the reason, if the carrier can. */
  close(farewell?: Farewell): void;
  /** Ends at once. */
  destroy(reason?: string): void;
}

/** Number of unsent bytes at which bulk output waits for `drain`. */
export const HIGH_WATER_BYTES = 1024 * 1024;
/** `drain` is called when the queue falls to this. */
export const LOW_WATER_BYTES = 256 * 1024;
