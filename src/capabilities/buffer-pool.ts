/** Free buffers are kept this long after the last use, at most twice as long. */
const KEEP_MS = 2_000;

/**
 * Reuses buffers of one size: fresh ones cost page faults, and make V8 run a full garbage collection every few
 * megabytes.
 */
export class BufferPool {
  readonly bytes: number;
  readonly #maxFree: number;
  #free: Buffer[] = [];
  #isUsed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor({ bytes, maxFree }: { bytes: number; maxFree: number }) {
    this.bytes = bytes;
    this.#maxFree = maxFree;
  }

  take(): Buffer {
    this.#isUsed = true;
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(this.bytes);
  }

  /** The caller must not use the bytes afterwards. Buffers that are never returned are garbage collected as usual. */
  giveBack(buffer: Buffer): void {
    if (this.#free.length >= this.#maxFree) return;
    this.#free.push(buffer);
    this.#timer ??= setInterval(() => this.#forgetUnused(), KEEP_MS).unref();
  }

  #forgetUnused(): void {
    if (this.#isUsed) {
      this.#isUsed = false;
      return;
    }
    this.#free = [];
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
