import { joinBytes } from "../../base/join-bytes.ts";

const BLOCK_BYTES = 16 * 1024;
const MAX_BYTES = 1024 * 1024;
/** What each process keeps in any case. */
const MIN_BLOCKS = 2;

/** Memory for the output of many processes. When it is used up, each keeps only a little of its own. */
export class OutputBudget {
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number = Number.POSITIVE_INFINITY) {
    this.#maxBytes = maxBytes;
  }

  get isUsedUp(): boolean {
    return this.#bytes >= this.#maxBytes;
  }

  count(bytes: number): void {
    this.#bytes += bytes;
  }
}

/** The newest output of a process, by its position in all of it. */
export class OutputLog {
  readonly #budget: OutputBudget;
  readonly #maxBytes: number;
  /** Full, except for the last one. */
  readonly #blocks: Uint8Array[] = [];
  #lastLength = 0;
  #end = 0;

  constructor(budget = new OutputBudget(), maxBytes: number = MAX_BYTES) {
    this.#budget = budget;
    this.#maxBytes = maxBytes;
  }

  /** Position of the oldest byte that is kept. */
  get start(): number {
    const blocks = this.#blocks.length;
    return blocks === 0 ? this.#end : this.#end - (blocks - 1) * BLOCK_BYTES - this.#lastLength;
  }

  /** Position after the newest byte: how much there has been in all. */
  get end(): number {
    return this.#end;
  }

  /** Copies the bytes. */
  push(bytes: Uint8Array): void {
    for (let from = 0; from < bytes.length; ) {
      if (this.#blocks.length === 0 || this.#lastLength === BLOCK_BYTES) {
        while (this.#budget.isUsedUp && this.#blocks.length >= MIN_BLOCKS) this.#drop();
        this.#blocks.push(new Uint8Array(BLOCK_BYTES));
        this.#budget.count(BLOCK_BYTES);
        this.#lastLength = 0;
      }
      const piece = bytes.subarray(from, from + BLOCK_BYTES - this.#lastLength);
      this.#blocks.at(-1)!.set(piece, this.#lastLength);
      this.#lastLength += piece.length;
      this.#end += piece.length;
      from += piece.length;
      if (this.#end - this.start > this.#maxBytes) this.#drop();
    }
  }

  /** Forgets all of it. */
  clear(): void {
    while (this.#blocks.length > 0) this.#drop();
  }

  #drop(): void {
    this.#blocks.shift();
    this.#budget.count(-BLOCK_BYTES);
  }

  /** At most `length` bytes from a position on, or from the oldest that are kept. */
  read(position: number, length: number): { readonly bytes: Uint8Array; readonly from: number } {
    const { start } = this;
    const from = Math.min(Math.max(position, start), this.#end);
    const to = Math.min(from + length, this.#end);
    const first = Math.floor((from - start) / BLOCK_BYTES);
    const last = Math.ceil((to - start) / BLOCK_BYTES);
    const base = start + first * BLOCK_BYTES;
    return { bytes: joinBytes(this.#blocks.slice(first, last)).subarray(from - base, to - base), from };
  }
}
