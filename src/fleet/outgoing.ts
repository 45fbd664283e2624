import { Fifo } from "../base/fifo.ts";
import { SendQueue } from "../transport/send-queue.ts";
import {
  FrameKind,
  HEADER_BYTES,
  numberedFrame,
  type Progress,
  reasonBytes,
  stampProgress,
} from "./frames.ts";
import { Slabs } from "./slabs.ts";

/** Longest body of a frame. Servers of NATS accept 1 MiB by default, and short frames let others pass in between. */
export const MAX_PIECE_BYTES = 256 * 1024;
/** Every text of this length fits into one frame, whatever its characters. */
const SHORT_CHARACTERS = MAX_PIECE_BYTES / 4;

interface Kept {
  readonly frame: Buffer;
  /** An earlier copy may still wait in a socket when a later one is acknowledged. */
  isRepeated: boolean;
}

/** A message that is only partly in frames. */
interface Waiting {
  readonly parts: readonly Uint8Array[];
  /** The part and the place in it that come next. */
  part: number;
  start: number;
  left: number;
  readonly flushed: (() => void) | undefined;
}

export interface OutgoingOptions {
  /** Progress of the other direction, which every frame carries. */
  readonly progress: () => Progress;
  /** False while frames would be lost. */
  readonly isOpen: () => boolean;
  readonly publish: (frame: Buffer) => void;
  readonly drained: () => void;
}

/**
 * One direction of a virtual connection at its sender: cuts messages into frames as far as the receiver admits, and
 * keeps frames until they are acknowledged, to send them again.
 */
export class Outgoing {
  readonly #options: OutgoingOptions;
  readonly #queue: SendQueue;
  readonly #waiting = new Fifo<Waiting | Buffer>();
  /** Frames that are not acknowledged, the oldest first. */
  readonly #kept = new Fifo<Kept>();
  readonly #slabs = new Slabs();
  readonly #allocate = (bytes: number): Buffer => this.#slabs.take(bytes);
  /** Number of kept frames that have been published since the last loss. */
  #published = 0;
  acknowledged = 0;
  /** Position after the last frame. */
  end = 0;
  #limit: number;

  constructor(options: OutgoingOptions, limit: number) {
    this.#options = options;
    this.#queue = new SendQueue(options.drained);
    this.#limit = limit;
  }

  /** Bytes of messages that are not in frames yet. */
  get queuedBytes(): number {
    return this.#queue.bytes;
  }

  /** True if everything given to it has been received. */
  get isEmpty(): boolean {
    return this.#waiting.size === 0 && this.#kept.size === 0;
  }

  send(message: string | Uint8Array, flushed?: () => void): void {
    if (
      typeof message === "string" &&
      message.length <= SHORT_CHARACTERS &&
      this.#fitsNow(message.length * 3)
    ) {
      const bytes = Buffer.byteLength(message);
      const frame = numberedFrame(FrameKind.last, this.end, bytes, this.#allocate);
      frame.write(message, HEADER_BYTES);
      this.#keep(frame);
      flushed?.();
      this.pump();
      return;
    }
    this.sendParts([typeof message === "string" ? Buffer.from(message) : message], flushed);
  }

  sendParts(parts: readonly Uint8Array[], flushed?: () => void): void {
    const left = parts.reduce((sum, part) => sum + part.length, 0);
    this.#queue.add(left);
    this.#waiting.push({ parts, part: 0, start: 0, left, flushed });
    this.pump();
  }

  /** Announces the end behind all messages. */
  finish(code: number, reason: string): void {
    const text = reasonBytes(reason);
    const body = Buffer.allocUnsafe(2 + text.length);
    body.writeUInt16BE(code);
    text.copy(body, 2);
    this.#waiting.push(body);
    this.pump();
  }

  /** The peer has received everything before `received`, and admits frames up to `limit`. */
  acknowledge({ received, limit }: Progress): void {
    if (limit > this.#limit) this.#limit = limit;
    while (received > this.acknowledged && this.#kept.size > 0) {
      const { frame, isRepeated } = this.#kept.shift()!;
      this.acknowledged += frame.length;
      if (this.#published > 0) this.#published -= 1;
      if (!isRepeated) this.#slabs.give(frame);
    }
    if (this.#kept.size === 0) this.#slabs.rest();
    this.pump();
  }

  /** Publishes unacknowledged frames again. */
  sendAgain(): void {
    for (let at = 0; at < this.#published; at += 1) this.#kept.at(at)!.isRepeated = true;
    this.#published = 0;
    this.pump();
  }

  /** Publishes what the receiver admits. */
  pump(): void {
    const { isOpen, publish, progress } = this.#options;
    if (!isOpen()) return;
    for (;;) {
      const kept = this.#kept.at(this.#published);
      if (kept !== undefined) {
        const { frame } = kept;
        this.#published += 1;
        stampProgress(frame, progress());
        publish(frame);
      } else if (!this.#cut()) return;
    }
  }

  /** Drops everything. */
  clear(): void {
    this.#kept.clear();
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift())
      if (!Buffer.isBuffer(next)) next.flushed?.();
  }

  /** Whether a message of this length can become a frame without waiting for others. */
  #fitsNow(bytes: number): boolean {
    return this.#waiting.size === 0 && this.end + HEADER_BYTES + bytes <= this.#limit;
  }

  #keep(frame: Buffer): void {
    this.#kept.push({ frame, isRepeated: false });
    this.end += frame.length;
  }

  /** Makes the next frame of what waits. False if nothing waits, or the receiver does not admit it yet. */
  #cut(): boolean {
    const next = this.#waiting.peek();
    if (next === undefined) return false;
    if (Buffer.isBuffer(next)) {
      if (this.end + HEADER_BYTES + next.length > this.#limit) return false;
      const frame = numberedFrame(FrameKind.end, this.end, next.length);
      next.copy(frame, HEADER_BYTES);
      this.#waiting.shift();
      this.#keep(frame);
      return true;
    }
    const bytes = Math.min(next.left, MAX_PIECE_BYTES);
    if (this.end + HEADER_BYTES + bytes > this.#limit) return false;
    const isLast = bytes === next.left;
    const kind = isLast ? FrameKind.last : FrameKind.piece;
    const frame = numberedFrame(kind, this.end, bytes, this.#allocate);
    copyBytes(next, frame, bytes);
    this.#keep(frame);
    if (isLast) {
      this.#waiting.shift();
      next.flushed?.();
    }
    this.#queue.remove(bytes);
    return true;
  }
}

/** Copies the next bytes of a message behind the header of a frame. */
function copyBytes(message: Waiting, frame: Buffer, bytes: number): void {
  let index = HEADER_BYTES;
  message.left -= bytes;
  while (index < HEADER_BYTES + bytes) {
    const part = message.parts[message.part]!;
    const piece = part.subarray(message.start, message.start + HEADER_BYTES + bytes - index);
    frame.set(piece, index);
    index += piece.length;
    message.start += piece.length;
    if (message.start < part.length) return;
    message.part += 1;
    message.start = 0;
  }
}
