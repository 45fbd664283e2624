const SMALLEST_BUFFER_BYTES = 1024;

/** Keeps parts of one stream's evicted output: its very beginning, and the part right before the log's. */
export class EvictedEdges {
  readonly #edgeBytes: number;
  #head: Buffer = Buffer.alloc(0);
  #headLength = 0;
  #tail: Buffer = Buffer.alloc(0);
  #tailLength = 0;
  #bytes = 0;

  /** Keeps the beginning up to `edgeBytes`, and at least as much of the end. */
  constructor(edgeBytes: number) {
    this.#edgeBytes = edgeBytes;
  }

  /** Total number of evicted bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The first bytes of the stream. */
  get head(): Uint8Array {
    return this.#head.subarray(0, this.#headLength);
  }

  /** The last bytes before those in the log; empty if the log's are enough. */
  get tail(): Uint8Array {
    return this.#tail.subarray(0, this.#tailLength);
  }

  /** True if `add` would ignore the bytes. */
  ignores(logKeepsEnough: boolean): boolean {
    return logKeepsEnough && this.#headLength === this.#edgeBytes;
  }

  /** Counts bytes without inspecting them. */
  skip(length: number): void {
    this.#bytes += length;
    this.#tailLength = 0;
  }

  /** `logKeepsEnough` says that the log itself holds the end of the stream. */
  add(bytes: Uint8Array, logKeepsEnough: boolean): void {
    this.#bytes += bytes.length;
    this.#addToHead(bytes);
    if (logKeepsEnough) this.#tailLength = 0;
    else this.#addToTail(bytes.subarray(Math.max(0, bytes.length - this.#edgeBytes)));
  }

  #addToHead(bytes: Uint8Array): void {
    const taken = bytes.subarray(0, this.#edgeBytes - this.#headLength);
    if (taken.length === 0) return;
    this.#head = grown(this.#head, this.#headLength + taken.length, this.#edgeBytes);
    this.#head.set(taken, this.#headLength);
    this.#headLength += taken.length;
  }

  /** Room for twice the bytes wanted, so that they are not moved on every addition. */
  #addToTail(bytes: Uint8Array): void {
    if (this.#tailLength + bytes.length > 2 * this.#edgeBytes) {
      this.#tail.copyWithin(0, this.#tailLength - this.#edgeBytes, this.#tailLength);
      this.#tailLength = this.#edgeBytes;
    }
    this.#tail = grown(this.#tail, this.#tailLength + bytes.length, 2 * this.#edgeBytes);
    this.#tail.set(bytes, this.#tailLength);
    this.#tailLength += bytes.length;
  }
}

function grown(buffer: Buffer, needed: number, most: number): Buffer {
  if (needed <= buffer.length) return buffer;
  let size = Math.max(buffer.length, SMALLEST_BUFFER_BYTES);
  while (size < needed) size *= 2;
  const larger = Buffer.allocUnsafeSlow(Math.min(size, most));
  larger.set(buffer);
  return larger;
}
