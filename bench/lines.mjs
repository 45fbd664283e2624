const NEWLINE = 0x0a;

/**
 * Splits a byte stream into lines, as on stdio. A line is valid only during the callback: it may lie in the read
 * buffer.
 */
export class LineReader {
  #rest = Buffer.alloc(0);
  #restBytes = 0;
  #onMessage;

  constructor(onMessage) {
    this.#onMessage = onMessage;
  }

  push(bytes) {
    let at = 0;
    for (;;) {
      const end = bytes.indexOf(NEWLINE, at);
      if (end === -1) break;
      if (this.#restBytes === 0) {
        this.#onMessage(bytes.subarray(at, end));
      } else {
        this.#append(bytes.subarray(at, end));
        const length = this.#restBytes;
        this.#restBytes = 0;
        this.#onMessage(this.#rest.subarray(0, length));
      }
      at = end + 1;
    }
    if (at < bytes.length) this.#append(bytes.subarray(at));
  }

  #append(bytes) {
    const needed = this.#restBytes + bytes.length;
    if (needed > this.#rest.length) {
      const grown = Buffer.allocUnsafe(Math.max(needed, this.#rest.length * 2));
      this.#rest.copy(grown, 0, 0, this.#restBytes);
      this.#rest = grown;
    }
    bytes.copy(this.#rest, this.#restBytes);
    this.#restBytes = needed;
  }
}
