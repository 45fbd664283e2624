const FIN_TEXT = 0x81;
const TWO_BYTE_LENGTH = 126;
const SHORT_HEADER_BYTES = 2;
const LONG_HEADER_BYTES = 4;
const MAX_FRAME_PAYLOAD = 0xffff;
const MAX_BYTES_PER_CHARACTER = 3;
const FULL_MESSAGES = 64;

/** As UTF-8 these always fit into a frame with a short header. */
export const MAX_BATCHED_CHARACTERS = Math.floor(MAX_FRAME_PAYLOAD / MAX_BYTES_PER_CHARACTER);

// Holds a batch that became full with the longest message.
const scratch = Buffer.allocUnsafeSlow(
  2 * MAX_BATCHED_CHARACTERS * MAX_BYTES_PER_CHARACTER + FULL_MESSAGES * LONG_HEADER_BYTES,
);

/**
 * Short messages as server frames, in one buffer: most messages are small, and separate writes cost more than bytes.
 */
export class FrameBatch {
  readonly #texts: string[] = [];
  #count = 0;
  #characters = 0;

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /** True if it must be taken before more is added. */
  get isFull(): boolean {
    return this.#characters >= MAX_BATCHED_CHARACTERS || this.#count === FULL_MESSAGES;
  }

  add(text: string): void {
    this.#texts[this.#count] = text;
    this.#count += 1;
    this.#characters += text.length;
  }

  /** The frames of everything added since the last call. */
  take(): Buffer {
    let end = 0;
    for (let index = 0; index < this.#count; index += 1) {
      end = writeFrame(end, this.#texts[index]!);
      this.#texts[index] = "";
    }
    this.#count = 0;
    this.#characters = 0;
    const frames = Buffer.allocUnsafe(end);
    scratch.copy(frames, 0, 0, end);
    return frames;
  }
}

/** Returns the end of the frame in the scratch buffer. */
function writeFrame(start: number, text: string): number {
  // The byte length is known only after encoding, so guess ASCII.
  const guessed = text.length < TWO_BYTE_LENGTH ? SHORT_HEADER_BYTES : LONG_HEADER_BYTES;
  const length = scratch.write(text, start + guessed, "utf8");
  scratch[start] = FIN_TEXT;
  if (length < TWO_BYTE_LENGTH) {
    scratch[start + 1] = length;
    return start + SHORT_HEADER_BYTES + length;
  }
  if (guessed === SHORT_HEADER_BYTES)
    scratch.copyWithin(
      start + LONG_HEADER_BYTES,
      start + SHORT_HEADER_BYTES,
      start + SHORT_HEADER_BYTES + length,
    );
  scratch[start + 1] = TWO_BYTE_LENGTH;
  scratch.writeUInt16BE(length, start + 2);
  return start + LONG_HEADER_BYTES + length;
}
