/**
 * Reads an input as decisions, so that a change of one byte changes one decision. Inputs that have ended decide for the
 * first possibility.
 */
export class Choices {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isOver(): boolean {
    return this.#at >= this.#bytes.length;
  }

  byte(): number {
    const byte = this.#bytes[this.#at] ?? 0;
    this.#at += 1;
    return byte;
  }

  /** In [0, limit). */
  below(limit: number): number {
    if (limit <= 256) return this.byte() % Math.max(1, limit);
    return ((this.byte() << 8) | this.byte()) % limit;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!;
  }

  bytes(length: number): Buffer {
    const taken = this.#bytes.subarray(this.#at, this.#at + length);
    this.#at += length;
    return taken;
  }

  rest(): Buffer {
    return this.bytes(this.#bytes.length);
  }
}

/** A few bytes of decisions about how the rest arrives. */
export function withPlan(input: Buffer, planBytes: number): { plan: Choices; bytes: Buffer } {
  return { plan: new Choices(input.subarray(0, planBytes)), bytes: input.subarray(planBytes) };
}
