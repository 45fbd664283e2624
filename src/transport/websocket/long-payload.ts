import { takeFrameBuffer } from "./frame-buffers.ts";
import { applyMask } from "./mask.ts";

/** Payloads from this length on are collected here. Below it, the library's own way is as good. */
export const LONG_PAYLOAD_BYTES = 256 * 1024;

/**
 * The payload of a long frame, collected in one buffer as it arrives, and unmasked there. The library would keep the
 * pieces until the last one, then copy them, and unmask them byte by byte.
 */
export class LongPayload {
  readonly #bytes: Buffer;
  readonly #mask: number;
  #filled = 0;

  /** `mask` is a number whose lowest byte is the mask's first. */
  constructor(length: number, mask: number) {
    this.#bytes = takeFrameBuffer(length);
    this.#mask = mask;
  }

  /** Takes the payload's part from the start of a chunk, and returns its end. */
  fill(chunk: Buffer): number {
    const taken = chunk.copy(this.#bytes, this.#filled);
    this.#filled += taken;
    return taken;
  }

  /** The unmasked payload, once it is complete; call it once. */
  finished(): Buffer | undefined {
    if (this.#filled < this.#bytes.length) return undefined;
    if (this.#mask !== 0) applyMask(this.#bytes, this.#mask);
    return this.#bytes;
  }
}
