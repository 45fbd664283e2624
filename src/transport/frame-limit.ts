import { MAX_FRAME_BYTES, MAX_MESSAGE_BYTES } from "../protocol/limits.ts";

const OPCODE_BITS = 0x0f;
const FIRST_CONTROL_OPCODE = 8;
const MASKED = 0x80;
const LENGTH_BITS = 0x7f;
const MASK_BYTES = 4;

/**
 * Watches the bytes of a WebSocket for a frame that is longer than the wire allows, and for a message that is longer than this server takes. The
 * WebSocket library limits messages too, but by then nothing can be said any more. Headers are read where they stand; payloads are stepped over.
 */
export class FrameLimit {
  readonly #maxMessageBytes: number;
  /** Bytes of the present frame's header so far. */
  readonly #header: number[] = [];
  #payloadLeft = 0;
  /** Of the present message, with the payload of its present frame. */
  #messageBytes = 0;

  constructor(maxMessageBytes: number = MAX_MESSAGE_BYTES) {
    this.#maxMessageBytes = maxMessageBytes;
  }

  /** True once a message was too long for this server, whatever the wire allows. */
  get messageTooLong(): boolean {
    return this.#messageBytes > this.#maxMessageBytes && this.#maxMessageBytes < MAX_MESSAGE_BYTES;
  }

  /** False as soon as a frame has announced too long a payload, by itself or for its message. */
  accepts(chunk: Uint8Array): boolean {
    let index = 0;
    while (index < chunk.length) {
      if (this.#payloadLeft > 0) {
        const step = Math.min(this.#payloadLeft, chunk.length - index);
        this.#payloadLeft -= step;
        index += step;
        continue;
      }
      this.#header.push(chunk[index]!);
      index += 1;
      const length = this.#headerLength();
      if (length === undefined || this.#header.length < length) continue;
      this.#payloadLeft = this.#payloadLength();
      this.#countMessage(this.#header[0]!);
      this.#header.length = 0;
      if (this.#payloadLeft > MAX_FRAME_BYTES || this.messageTooLong) return false;
    }
    return true;
  }

  #countMessage(first: number): void {
    const opcode = first & OPCODE_BITS;
    if (opcode >= FIRST_CONTROL_OPCODE) return;
    this.#messageBytes = (opcode === 0 ? this.#messageBytes : 0) + this.#payloadLeft;
  }

  #headerLength(): number | undefined {
    const second = this.#header[1];
    if (second === undefined) return undefined;
    const short = second & LENGTH_BITS;
    const extended = short === 126 ? 2 : short === 127 ? 8 : 0;
    return 2 + extended + (second & MASKED ? MASK_BYTES : 0);
  }

  #payloadLength(): number {
    const short = this.#header[1]! & LENGTH_BITS;
    if (short < 126) return short;
    const extended = this.#header.slice(2, short === 126 ? 4 : 10);
    return extended.reduce((length, byte) => length * 256 + byte, 0);
  }
}
