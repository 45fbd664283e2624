const FIRST_CAPACITY = 4_096;
const MAX_LOAD = 0.6;

/** Remembers ids as hashes of 64 bits, in a few bytes for each. Two ids may seem the same with almost no probability. */
export class SeenIds {
  #high = new Uint32Array(FIRST_CAPACITY);
  #low = new Uint32Array(FIRST_CAPACITY);
  #size = 0;

  /** False if the id, or with almost no probability another one, was added before. */
  add(id: string): boolean {
    let high = 0x811c9dc5;
    let low = 0x1b873593;
    for (let index = 0; index < id.length; index += 1) {
      const code = id.charCodeAt(index);
      high = Math.imul(high ^ code, 0x01000193);
      low = Math.imul((low ^ code) + (low << 5), 0x85ebca6b);
      low ^= low >>> 13;
    }
    // Zero marks a free place.
    if (!this.#insert(high >>> 0, low >>> 0 || 1)) return false;
    this.#size += 1;
    if (this.#size > this.#high.length * MAX_LOAD) this.#grow();
    return true;
  }

  #insert(high: number, low: number): boolean {
    const mask = this.#high.length - 1;
    let at = (high ^ low) & mask;
    while (this.#low[at] !== 0) {
      if (this.#low[at] === low && this.#high[at] === high) return false;
      at = (at + 1) & mask;
    }
    this.#high[at] = high;
    this.#low[at] = low;
    return true;
  }

  #grow(): void {
    const [high, low] = [this.#high, this.#low];
    this.#high = new Uint32Array(high.length * 2);
    this.#low = new Uint32Array(low.length * 2);
    for (const [at, value] of low.entries()) if (value !== 0) this.#insert(high[at]!, value);
  }
}
