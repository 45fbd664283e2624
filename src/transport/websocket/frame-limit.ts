import { MAX_FRAME_BYTES, MAX_MESSAGE_BYTES } from "../../protocol/limits.ts";

const FINAL = 0x80;
const OPCODE_BITS = 0x0f;
const FIRST_CONTROL_OPCODE = 8;
const MASKED = 0x80;
const LENGTH_BITS = 0x7f;
const MASK_BYTES = 4;
const MAX_HEADER_BYTES = 14;

/**
 * Watches the bytes of a WebSocket for a frame that is longer than the wire allows, and for a message that is longer than this server takes. The
 * WebSocket library limits messages too, but by then nothing can be said any more. Headers are read where they stand; payloads are stepped over.
 */
export class FrameLimit {
  readonly #maxMessageBytes: number;
  /** The present frame's header, as far as it has come, where it does not lie in one chunk. */
  readonly #header = new Uint8Array(MAX_HEADER_BYTES);
  #headerBytes = 0;
  #payloadLeft = 0;
  #isFragmented = false;
  #payloadStart: number | undefined;
  /** Of the present message, with the payload of its present frame. */
  #messageBytes = 0;

  constructor(maxMessageBytes: number = MAX_MESSAGE_BYTES) {
    this.#maxMessageBytes = maxMessageBytes;
  }

  /** True once a message was too long for this server, whatever the wire allows. */
  get messageTooLong(): boolean {
    return this.#messageBytes > this.#maxMessageBytes && this.#maxMessageBytes < MAX_MESSAGE_BYTES;
  }

  /** True when the next byte begins a message, or a frame between messages. */
  get isBetweenMessages(): boolean {
    return this.#payloadLeft === 0 && this.#headerBytes === 0 && !this.#isFragmented;
  }

  /** What is still to come of the present frame's payload. */
  get payloadLeft(): number {
    return this.#payloadLeft;
  }

  /** Where the payload of the present frame begins in the chunk that was looked at last; undefined when not all of its header lies there, or it has no mask. */
  get payloadStart(): number | undefined {
    return this.#payloadStart;
  }

  /** The rest of the present payload is not shown here. */
  skipPayload(): void {
    this.#payloadLeft = 0;
  }

  /** False as soon as a frame has announced too long a payload, by itself or for its message. */
  accepts(chunk: Uint8Array): boolean {
    let index = 0;
    this.#payloadStart = undefined;
    for (;;) {
      const step = Math.min(this.#payloadLeft, chunk.length - index);
      this.#payloadLeft -= step;
      index += step;
      if (index >= chunk.length) return true;
      index = this.#readHeader(chunk, index);
      if (this.#payloadLeft > MAX_FRAME_BYTES || this.messageTooLong) return false;
    }
  }

  /** Returns where the header, or the chunk, ends. */
  #readHeader(chunk: Uint8Array, start: number): number {
    if (this.#headerBytes === 0 && start + MAX_HEADER_BYTES <= chunk.length) {
      this.#begin(chunk, start);
      const end = start + headerLength(chunk[start + 1]!);
      this.#payloadStart = (chunk[start + 1]! & MASKED) === 0 ? undefined : end;
      return end;
    }
    let index = start;
    this.#payloadStart = undefined;
    while (index < chunk.length) {
      this.#header[this.#headerBytes] = chunk[index]!;
      this.#headerBytes += 1;
      index += 1;
      if (this.#headerBytes < 2 || this.#headerBytes < headerLength(this.#header[1]!)) continue;
      this.#headerBytes = 0;
      this.#begin(this.#header, 0);
      break;
    }
    return index;
  }

  #begin(bytes: Uint8Array, at: number): void {
    this.#payloadLeft = payloadLength(bytes, at);
    const opcode = bytes[at]! & OPCODE_BITS;
    if (opcode >= FIRST_CONTROL_OPCODE) return;
    this.#isFragmented = (bytes[at]! & FINAL) === 0;
    this.#messageBytes = (opcode === 0 ? this.#messageBytes : 0) + this.#payloadLeft;
  }
}

function headerLength(second: number): number {
  const short = second & LENGTH_BITS;
  const extended = short === 126 ? 2 : short === 127 ? 8 : 0;
  return 2 + extended + (second & MASKED ? MASK_BYTES : 0);
}

function payloadLength(bytes: Uint8Array, at: number): number {
  const short = bytes[at + 1]! & LENGTH_BITS;
  if (short < 126) return short;
  let length = 0;
  for (let index = at + 2; index < at + (short === 126 ? 4 : 10); index += 1)
    length = length * 256 + bytes[index]!;
  return length;
}
