const FIN_TEXT = 0x81;
const TWO_BYTE_LENGTH = 126;
const MAX_FRAME_PAYLOAD = 0xffff;
const FULL_BYTES = 64 * 1024;
const FULL_MESSAGES = 64;

/** As UTF-8 these fit a frame with a short header, whatever they are. */
export const MAX_BATCHED_CHARACTERS = Math.floor(MAX_FRAME_PAYLOAD / 3);

/** Short messages as a server sends them, one behind the other in one buffer: most messages are small, and pieces cost more than bytes. */
export class FrameBatch {
  readonly #texts: string[] = [];
  readonly #lengths: number[] = [];
  #bytes = 0;

  get isEmpty(): boolean {
    return this.#texts.length === 0;
  }

  /** True when it should be taken before more is added. */
  get isFull(): boolean {
    return this.#bytes >= FULL_BYTES || this.#texts.length >= FULL_MESSAGES;
  }

  add(text: string): void {
    const length = Buffer.byteLength(text);
    this.#texts.push(text);
    this.#lengths.push(length);
    this.#bytes += headerBytes(length) + length;
  }

  /** The frames of all that was added since the last time. */
  take(): Buffer {
    const frames = Buffer.allocUnsafe(this.#bytes);
    let at = 0;
    for (const [index, text] of this.#texts.entries())
      at = writeFrame(frames, at, text, this.#lengths[index]!);
    this.#texts.length = 0;
    this.#lengths.length = 0;
    this.#bytes = 0;
    return frames;
  }
}

function headerBytes(length: number): number {
  return length < TWO_BYTE_LENGTH ? 2 : 4;
}

/** Returns where the frame ends. */
function writeFrame(frames: Buffer, start: number, text: string, length: number): number {
  frames[start] = FIN_TEXT;
  if (length < TWO_BYTE_LENGTH) {
    frames[start + 1] = length;
  } else {
    frames[start + 1] = TWO_BYTE_LENGTH;
    frames.writeUInt16BE(length, start + 2);
  }
  const payloadAt = start + headerBytes(length);
  // One character a byte is the rule, and that is mere copying.
  frames.write(text, payloadAt, text.length === length ? "latin1" : "utf8");
  return payloadAt + length;
}
