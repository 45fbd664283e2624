/** Memory is kept this long after its last use, at most twice as long. */
const KEEP_MS = 2_000;

/** Buffers of one size that are used again: fresh ones cost page faults, and make V8 collect all garbage after every few megabytes. */
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

  /** Nobody may look at the bytes any more. What is never given back is garbage like any other. */
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
