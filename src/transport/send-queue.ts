import { HIGH_WATER_BYTES, LOW_WATER_BYTES } from "./transport.ts";

/** Counts bytes that were accepted but not yet flushed, and reports when a full queue has drained. */
export class SendQueue {
  readonly #onDrain: () => void;
  bytes = 0;
  #high = false;

  constructor(onDrain: () => void) {
    this.#onDrain = onDrain;
  }

  add(bytes: number): void {
    this.bytes += bytes;
    if (this.bytes >= HIGH_WATER_BYTES) this.#high = true;
  }

  remove(bytes: number): void {
    this.bytes -= bytes;
    if (!this.#high || this.bytes > LOW_WATER_BYTES) return;
    this.#high = false;
    this.#onDrain();
  }
}
