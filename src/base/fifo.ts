/** A queue with a constant-time `shift`. It is unbounded; the owner limits its size. */
export class Fifo<T> {
  #items: (T | undefined)[] = [];
  #head = 0;

  get size(): number {
    return this.#items.length - this.#head;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  peek(): T | undefined {
    return this.#items[this.#head];
  }

  shift(): T | undefined {
    if (this.size === 0) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head] = undefined;
    this.#head += 1;
    if (this.#head > 1024 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  /** The item at `offset` behind the first. */
  at(offset: number): T | undefined {
    return this.#items[this.#head + offset];
  }

  /** Frees the memory of a queue to which little or nothing will be added. */
  compact(): void {
    this.#items = this.#items.slice(this.#head);
    this.#head = 0;
  }

  clear(): void {
    this.#items = [];
    this.#head = 0;
  }
}
