/** Maximum count of numbers ahead of a missing one. Beyond it, the missing ones are given up. */
const MAX_EARLY_NUMBERS = 1_024;

/** Tracks which numbers of an ascending sequence have passed. Neighbours may be swapped. */
export class SeenNumbers {
  readonly #early = new Set<number>();
  #last = 0;

  /** All numbers up to this one have passed. */
  get last(): number {
    return this.#last;
  }

  /** True if no number is missing before one that has passed. */
  get isContiguous(): boolean {
    return this.#early.size === 0;
  }

  has(seq: number): boolean {
    return seq <= this.#last || this.#early.has(seq);
  }

  /** The next number is this one. */
  startAt(seq: number): void {
    this.#early.clear();
    this.#last = seq - 1;
  }

  add(seq: number): void {
    if (seq > this.#last + 1) this.#early.add(seq);
    else this.#last = Math.max(this.#last, seq);
    if (this.#early.size > MAX_EARLY_NUMBERS) this.#last = Math.min(...this.#early);
    while (this.#early.delete(this.#last + 1)) this.#last += 1;
    // The number that giving up has just reached.
    this.#early.delete(this.#last);
  }
}
