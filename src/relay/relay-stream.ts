import { isUtf8 } from "node:buffer";
import { Fifo } from "../base/fifo.ts";
import type { Ciphers } from "../noise/handshake.ts";
import { TAG_BYTES } from "../noise/symmetric-state.ts";
import { MAX_MESSAGE_BYTES } from "../protocol/wire-limits.ts";
import { decodeText, NO_TEXT } from "../transport/decode-text.ts";
import { liftLongString } from "../transport/long-string.ts";
import { SendQueue } from "../transport/send-queue.ts";
import type { Transport, TransportEvents } from "../transport/transport.ts";
import type { Carrier, FrameSource } from "./carrier.ts";
import { RecordWriter, writeFrame } from "./frame.ts";
import { MAX_RECORD_BYTES, MessageJoiner, RecordCutter, RecordOrder } from "./records.ts";

/** How many bytes a sender may be ahead of a reader that acknowledges what it takes. */
export const WINDOW_BYTES = 1024 * 1024;
const ACK_BYTES = WINDOW_BYTES / 4;
/** Records that wait while the stream is paused, before the owner of the carrier has to act. */
const MAX_WAITING_BYTES = WINDOW_BYTES + MAX_RECORD_BYTES;

export interface RelayStreamOptions {
  readonly streamId: string;
  readonly carrier: Carrier;
  readonly ciphers: Ciphers;
  /** Source of messages, for errors. */
  readonly source: string;
  /** Address of the peer, for observers. */
  readonly from?: string;
  readonly maxMessageBytes?: number;
  /** More waits to be read than should, or no longer does. */
  readonly congested: (isCongested: boolean) => void;
  /** The peer violates the protocol. */
  readonly violated: () => void;
  /** This end closes the stream: everything that was sent before is on its way. */
  readonly closed: () => void;
}

/** Messages over one encrypted stream of a relay. */
export class RelayStream implements Transport, FrameSource {
  /** The relay answers pings, whatever has become of the other end. */
  readonly mayGoSilent = true;
  readonly #options: RelayStreamOptions;
  readonly #order = new RecordOrder();
  readonly #joiner: MessageJoiner;
  readonly #cutter = new RecordCutter();
  readonly #writer: RecordWriter;
  readonly #queue = new SendQueue(() => {
    if (!this.#ended) this.#events?.drain();
  });
  readonly #waiting = new Fifo<Buffer>();
  #waitingBytes = 0;
  #isCongested = false;
  #isPaused = true;
  #isReading = false;
  #events: TransportEvents | undefined;
  #sent = 0;
  /** Lengths of records that the peer has not taken; undefined unless it says what it takes. */
  #unacknowledged: Fifo<number> | undefined;
  #unacknowledgedBytes = 0;
  #acknowledged = 0;
  #taken = 0;
  #takenBytes = 0;
  #receivedBytes = 0;
  #sentBytes = 0;
  #isClosing = false;
  #ended = false;
  #endReason: string | undefined;

  constructor(options: RelayStreamOptions) {
    this.#options = options;
    this.#writer = new RecordWriter(options.streamId);
    this.#joiner = new MessageJoiner(options.maxMessageBytes ?? MAX_MESSAGE_BYTES);
  }

  get source(): string {
    return this.#options.source;
  }

  get from(): string {
    return this.#options.from ?? "relay";
  }

  get queuedBytes(): number {
    return this.#queue.bytes;
  }

  get receivedBytes(): number {
    return this.#receivedBytes;
  }

  get sentBytes(): number {
    return this.#sentBytes;
  }

  open(events: TransportEvents): void {
    this.#events = events;
    if (this.#ended) events.close(this.#endReason);
    else this.resume();
  }

  send(message: string | Uint8Array, flushed?: () => void): void {
    this.sendParts([typeof message === "string" ? Buffer.from(message) : message], flushed);
  }

  sendLazily(message: string | Uint8Array, flushed?: () => void): void {
    this.send(message, flushed);
  }

  sendParts(parts: readonly Uint8Array[], flushed?: () => void): void {
    if (this.#ended || this.#isClosing) {
      flushed?.();
      return;
    }
    const bytes = parts.reduce((sum, part) => sum + part.length, 0);
    this.#queue.add(bytes);
    this.#cutter.add(parts, () => {
      flushed?.();
      this.#queue.remove(bytes);
    });
    this.#options.carrier.schedule(this);
  }

  /** Tells the peer that this end acknowledges what it takes. */
  offerAcks(): void {
    this.#acknowledge();
  }

  nextFrame(): { frame: Buffer; sent: () => void } | undefined {
    // What is left at the end need not wait: there is nothing after it.
    if (this.#unacknowledgedBytes >= WINDOW_BYTES && !this.#isClosing) return undefined;
    const next = this.#cutter.next();
    if (next === undefined) {
      if (this.#isClosing) this.destroy();
      return undefined;
    }
    const { ciphers } = this.#options;
    const frame = this.#writer.write(this.#sent, ciphers.sending.encryptParts(next.record));
    if (this.#unacknowledged !== undefined) {
      const bytes = next.record.reduce((sum, part) => sum + part.length, 0);
      this.#unacknowledged.push(bytes);
      this.#unacknowledgedBytes += bytes;
    }
    this.#sent += 1;
    this.#sentBytes += frame.length;
    return {
      frame,
      sent: () => {
        for (const flushed of next.whole) flushed();
      },
    };
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#read();
  }

  close(): void {
    if (this.#ended || this.#isClosing) return;
    this.#isClosing = true;
    this.#options.carrier.schedule(this);
  }

  destroy(reason?: string): void {
    if (this.#ended) return;
    this.end(reason);
    this.#options.closed();
  }

  /** Takes a record of the peer. It is bounded before it is decrypted. */
  receive(seq: number, payload: Buffer): void {
    if (this.#ended) return;
    this.#receivedBytes += payload.length;
    this.#guard(() => {
      if (payload.length > MAX_RECORD_BYTES + TAG_BYTES) throw new RangeError("a record is too long");
      for (const record of this.#order.take(seq, payload)) {
        const plaintext = this.#options.ciphers.receiving.decrypt(record);
        this.#waiting.push(plaintext);
        this.#waitingBytes += plaintext.length;
      }
    });
    this.#read();
  }

  /** The peer has taken so many records. The first time, this end answers in kind. */
  receiveAck(count: number): void {
    if (this.#ended) return;
    if (this.#unacknowledged === undefined) {
      this.#unacknowledged = new Fifo();
      this.#acknowledged = this.#sent;
      this.#acknowledge();
    }
    for (; this.#acknowledged < count && this.#unacknowledged.size > 0; this.#acknowledged += 1)
      this.#unacknowledgedBytes -= this.#unacknowledged.shift()!;
    if (!this.#cutter.isEmpty) this.#options.carrier.schedule(this);
  }

  /** The stream is over for both ends. */
  end(reason?: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#endReason = reason;
    this.#options.carrier.unschedule(this);
    this.#cutter.clear();
    this.#waiting.clear();
    this.#waitingBytes = 0;
    this.#noteCongestion();
    this.#events?.close(reason);
  }

  /** A message may pause, resume and end this; a second reader would break the order. */
  #read(): void {
    if (this.#isReading) return;
    this.#isReading = true;
    while (!this.#isPaused && !this.#ended) {
      const record = this.#waiting.shift();
      if (record === undefined) break;
      this.#waitingBytes -= record.length;
      this.#taken += 1;
      this.#takenBytes += record.length;
      if (this.#unacknowledged !== undefined && this.#takenBytes >= ACK_BYTES) this.#acknowledge();
      const messages = this.#guard(() => [...this.#joiner.take(record)]) ?? [];
      for (const message of messages) if (!this.#ended) this.#deliver(message);
    }
    this.#isReading = false;
    this.#noteCongestion();
  }

  #acknowledge(): void {
    const { carrier, streamId } = this.#options;
    this.#takenBytes = 0;
    carrier.send(writeFrame({ streamId, kind: "ack", count: this.#taken }));
  }

  /** Whatever the peer has sent wrong ends the stream. */
  #guard<T>(work: () => T): T | undefined {
    try {
      return work();
    } catch {
      this.end("the relay stream violates the protocol");
      this.#options.violated();
      return undefined;
    }
  }

  #deliver(bytes: Buffer): void {
    if (!isUtf8(bytes)) {
      this.#events?.message(NO_TEXT);
      return;
    }
    const long = this.#events?.longMessage && liftLongString(bytes);
    if (long === undefined) this.#events?.message(decodeText(bytes));
    else this.#events?.longMessage?.(long);
  }

  #noteCongestion(): void {
    const isCongested = this.#waitingBytes > MAX_WAITING_BYTES;
    if (isCongested === this.#isCongested) return;
    this.#isCongested = isCongested;
    this.#options.congested(isCongested);
  }
}
