const FIRST_CAPACITY = 1_024;

/** Offset of each row's latest record in the ledger; eight bytes for each row. */
export class LineOffsets {
  /** One more than the offset; zero for none. */
  #offsets = new Float64Array(FIRST_CAPACITY);

  get(index: number): number | undefined {
    const marked = this.#offsets[index] ?? 0;
    return marked === 0 ? undefined : marked - 1;
  }

  set(index: number, offset: number): void {
    if (index >= this.#offsets.length) {
      const grown = new Float64Array(Math.max(index + 1, this.#offsets.length * 2));
      grown.set(this.#offsets);
      this.#offsets = grown;
    }
    this.#offsets[index] = offset + 1;
  }
}
