import { MAX_FRAME_BYTES, MAX_MESSAGE_BYTES } from "../../protocol/wire-limits.ts";
import { FrameHeader, MAX_HEADER_BYTES } from "./frame-header.ts";

const FIRST_CONTROL_OPCODE = 8;

/** An end of a connection. */
export type Side = "client" | "server";

/**
 * Follows the frames in the bytes of a WebSocket, and detects one that is longer than the wire allows or makes a
 * message longer than this server accepts. The WebSocket library limits messages too, but then it is too late to send
 * an answer. Headers are read in place; payloads are skipped.
 */
export class FrameScanner {
  readonly #maxMessageBytes: number;
  readonly #maxFrameBytes: number;
  readonly #areMasked: boolean;
  readonly #header = new FrameHeader();
  /** The start of a header that is split over chunks. */
  readonly #partial = new Uint8Array(MAX_HEADER_BYTES);
  #partialBytes = 0;
  #payloadLeft = 0;
  #isFragmented = false;
  #payloadStart: number | undefined;
  /** Length of the current message, including the payload of its current frame. */
  #messageBytes = 0;

  /**
   * For the frames that this side receives. Those of clients must be masked, and those of servers must not. A server may
   * send a whole message as one frame.
   */
  constructor(side: Side, maxMessageBytes: number = MAX_MESSAGE_BYTES) {
    this.#maxMessageBytes = maxMessageBytes;
    this.#maxFrameBytes = side === "server" ? MAX_FRAME_BYTES : MAX_MESSAGE_BYTES;
    this.#areMasked = side === "server";
  }

  /** True once a message was too long for this server, even if the wire allows it. */
  get messageTooLong(): boolean {
    return this.#messageBytes > this.#maxMessageBytes && this.#maxMessageBytes < MAX_MESSAGE_BYTES;
  }

  /** True if the next byte starts a message, or a frame between messages. */
  get isBetweenMessages(): boolean {
    return this.#payloadLeft === 0 && this.#partialBytes === 0 && !this.#isFragmented;
  }

  /** Remaining bytes of the current frame's payload. */
  get payloadLeft(): number {
    return this.#payloadLeft;
  }

  /**
   * Start of the current frame's payload in the last chunk; undefined if its header is incomplete, or the library will refuse it.
   */
  get payloadStart(): number | undefined {
    return this.#payloadStart;
  }

  /** The rest of the current payload will not be scanned. */
  skipPayload(): void {
    this.#payloadLeft = 0;
  }

  /** Returns false as soon as a frame announces too long a payload, by itself or for its message. */
  accepts(chunk: Uint8Array): boolean {
    let at = 0;
    this.#payloadStart = undefined;
    for (;;) {
      const step = Math.min(this.#payloadLeft, chunk.length - at);
      this.#payloadLeft -= step;
      at += step;
      if (at >= chunk.length) return true;
      at = this.#readHeader(chunk, at);
      if (this.#payloadLeft > this.#maxFrameBytes || this.messageTooLong) return false;
    }
  }

  /** Returns the end of the header, or of the chunk. */
  #readHeader(chunk: Uint8Array, start: number): number {
    const header = this.#header;
    if (this.#partialBytes === 0 && header.read(chunk, start, chunk.length)) {
      this.#begin();
      const end = start + header.bytes;
      this.#payloadStart = header.isMasked === this.#areMasked ? end : undefined;
      return end;
    }
    this.#payloadStart = undefined;
    for (let at = start; at < chunk.length; ) {
      this.#partial[this.#partialBytes] = chunk[at]!;
      this.#partialBytes += 1;
      at += 1;
      if (!header.readLength(this.#partial, 0, this.#partialBytes)) continue;
      // The library refuses a frame that is too long before it has the mask.
      if (this.#partialBytes < header.bytes && !this.#isTooLong()) continue;
      this.#partialBytes = 0;
      this.#begin();
      return at;
    }
    return chunk.length;
  }

  /** Whether the frame of the current header is, or makes its message. */
  #isTooLong(): boolean {
    const { opcode, payloadBytes } = this.#header;
    if (payloadBytes > this.#maxFrameBytes) return true;
    return opcode < FIRST_CONTROL_OPCODE && this.#bytesWith(this.#header) > this.#maxMessageBytes;
  }

  #begin(): void {
    const { opcode, isFinal, payloadBytes } = this.#header;
    this.#payloadLeft = payloadBytes;
    if (opcode >= FIRST_CONTROL_OPCODE) return;
    this.#isFragmented = !isFinal;
    this.#messageBytes = this.#bytesWith(this.#header);
  }

  /** Length of the message including the frame of this header. */
  #bytesWith({ opcode, payloadBytes }: FrameHeader): number {
    return (opcode === 0 ? this.#messageBytes : 0) + payloadBytes;
  }
}
