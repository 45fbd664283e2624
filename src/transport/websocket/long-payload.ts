import { takeFrameBuffer } from "./frame-buffers.ts";

/** From here on a payload is gathered here. Below it the library's own way is as good. */
export const LONG_PAYLOAD_BYTES = 256 * 1024;

/**
 * The payload of a long frame, which is gathered in one buffer while it comes, and unmasked there. The library would keep the pieces until the last one, copy
 * them then, and unmask them byte by byte.
 */
export class LongPayload {
  readonly #bytes: Buffer;
  readonly #mask: number;
  #filled = 0;

  /** `mask` is the frame's mask as a number, its first byte the lowest. */
  constructor(length: number, mask: number) {
    this.#bytes = takeFrameBuffer(length);
    this.#mask = mask;
  }

  /** Takes what belongs to the payload from the beginning of a chunk, and returns where that ends. */
  fill(chunk: Buffer): number {
    const taken = chunk.copy(this.#bytes, this.#filled);
    this.#filled += taken;
    return taken;
  }

  /** The payload without its mask, once all of it is there; to be asked for once. */
  finished(): Buffer | undefined {
    if (this.#filled < this.#bytes.length) return undefined;
    if (this.#mask !== 0) unmask(this.#bytes, this.#mask);
    return this.#bytes;
  }
}

/** Four bytes at a time. */
function unmask(bytes: Buffer, mask: number): void {
  const words = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2);
  for (let index = 0; index < words.length; index += 1) words[index] = words[index]! ^ mask;
  for (let index = words.length * 4; index < bytes.length; index += 1)
    bytes[index] = bytes[index]! ^ ((mask >>> ((index % 4) * 8)) & 0xff);
}
