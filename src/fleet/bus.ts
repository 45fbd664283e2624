/** A message of a subscription. */
export interface BusMessage {
  readonly subject: string;
  readonly data: Buffer;
  /** Subject for an answer. */
  readonly reply: string | undefined;
  /** True, without data, if the subject of a message that asked for an answer has no receivers. */
  readonly isUndeliverable: boolean;
}

export interface BusEvents {
  /** The connection is lost, and is being opened again. */
  disconnected?(): void;
  /** Connected again: messages of the meantime may be lost, in both directions. */
  reconnected(): void;
  /** The bus can be reached, but rejects this program when it reconnects. It keeps trying. */
  refused?(reason: string): void;
  /** The bus does not allow this program to publish to the subject, or to subscribe to it. */
  denied?(subject: string): void;
  /** The bus will not connect again. */
  ended(reason: string): void;
}

/**
 * What virtual connections need of NATS: messages that usually arrive, once and in order. While the bus reconnects,
 * they may be lost, repeated or out of order.
 */
export interface Bus {
  /** Messages published while it is false would be lost. */
  readonly isConnected: boolean;
  /** The data must not change before it has arrived. */
  publish(subject: string, data: Uint8Array, reply?: string): void;
  /** Returns what ends the subscription. */
  subscribe(subject: string, receive: (message: BusMessage) => void): () => void;
  /** Returns what stops watching. */
  watch(events: BusEvents): () => void;
}
