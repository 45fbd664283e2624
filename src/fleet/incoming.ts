import { Fifo } from "../base/fifo.ts";
import { FrameKind, HEADER_BYTES, type Progress, readPosition, readReason } from "./frames.ts";

/**
 * How many bytes a sender may be ahead of its reader. A program that is suspended makes its NATS server hold this
 * much for each of its connections, which must stay far below the 64 MiB at which that server cuts it off.
 */
export const WINDOW_BYTES = 1024 * 1024;
/** Shorter pieces of a longer message would take more memory than the message. */
const MIN_PIECE_BYTES = 16 * 1024;

export interface IncomingEvents {
  /** One whole message. */
  message(bytes: Buffer): void;
  /** A message is longer than the limit. */
  tooLong(): void;
  end(code: number, reason: string): void;
}

/** Outcome for a frame. */
export type Arrival = "taken" | "repeated" | "gap" | "violation";

/**
 * One direction of a virtual connection at its receiver: takes frames in order, once, and joins the pieces of messages.
 * While it is paused, frames wait, as many as fit into the window.
 */
export class Incoming {
  readonly #events: IncomingEvents;
  readonly #maxMessageBytes: number;
  readonly #waiting = new Fifo<Buffer>();
  #pieces: Buffer[] = [];
  #pieceBytes = 0;
  #received = 0;
  /** Position up to which frames have left the window. */
  #consumed = 0;
  #isPaused = true;
  #isReading = false;
  #isOver = false;

  constructor(events: IncomingEvents, maxMessageBytes: number) {
    this.#events = events;
    this.#maxMessageBytes = maxMessageBytes;
  }

  get progress(): Progress {
    return { received: this.#received, limit: this.#consumed + WINDOW_BYTES };
  }

  take(frame: Buffer): Arrival {
    const position = readPosition(frame);
    if (position < this.#received) return "repeated";
    if (position > this.#received) return "gap";
    if (position + frame.length > this.#consumed + WINDOW_BYTES) return "violation";
    if (frame[0] === FrameKind.piece && frame.length < HEADER_BYTES + MIN_PIECE_BYTES) return "violation";
    this.#received += frame.length;
    if (this.#isOver) return "taken";
    this.#waiting.push(this.#isPaused || this.#isReading ? inOwnMemory(frame) : frame);
    this.#read();
    return "taken";
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#read();
  }

  /** Drops what has not been delivered, and everything later. */
  stop(): void {
    this.#isOver = true;
    this.#waiting.clear();
    this.#pieces = [];
  }

  /** A message may pause, resume and stop this; a second reader would break the order. */
  #read(): void {
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      while (!this.#isPaused) {
        const frame = this.#waiting.shift();
        if (frame === undefined) return;
        this.#consumed += frame.length;
        this.#consume(frame);
      }
    } finally {
      this.#isReading = false;
    }
  }

  #consume(frame: Buffer): void {
    const body = frame.subarray(HEADER_BYTES);
    if (frame[0] === FrameKind.end) {
      this.stop();
      this.#events.end(body.length < 2 ? 0 : body.readUInt16BE(), readReason(body.subarray(2)));
      return;
    }
    this.#pieceBytes += body.length;
    if (this.#pieceBytes > this.#maxMessageBytes) {
      this.stop();
      this.#events.tooLong();
      return;
    }
    if (frame[0] === FrameKind.piece) {
      this.#pieces.push(inOwnMemory(body));
      return;
    }
    const message =
      this.#pieces.length === 0 ? body : Buffer.concat([...this.#pieces, body], this.#pieceBytes);
    this.#pieces = [];
    this.#pieceBytes = 0;
    this.#events.message(message);
  }
}

/** Bytes that are kept: a few of a long read would keep all of it alive, also what others have sent. */
function inOwnMemory(bytes: Buffer): Buffer {
  if (bytes.buffer.byteLength <= 2 * bytes.length) return bytes;
  const own = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(own);
  return own;
}
