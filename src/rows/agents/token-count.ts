import type { RowItem } from "../engine/row.ts";
import { addTokens, NO_TOKENS, type Tokens } from "./model/model.ts";

/** Counts the tokens of a job and of its items, and says when there are no more. */
export class TokenCount {
  readonly #max: number;
  /** Of items that are not completed; an item that failed may be tried again. */
  readonly #byItem = new Map<number, number>();
  #sum: Tokens = NO_TOKENS;

  constructor(max: number) {
    this.#max = max;
  }

  get sum(): Tokens {
    return this.#sum;
  }

  /** Why no model is asked any more. */
  get refusal(): string | undefined {
    if (this.#sum.total < this.#max) return undefined;
    return `the job has used ${this.#sum.total} tokens, and may use ${this.#max}`;
  }

  add({ index }: RowItem, tokens: Tokens): void {
    this.#sum = addTokens(this.#sum, tokens);
    this.#byItem.set(index, this.of(index) + tokens.total);
  }

  of(index: number): number {
    return this.#byItem.get(index) ?? 0;
  }

  /** An item is completed: nothing will be added to it. */
  forget({ index }: RowItem): void {
    this.#byItem.delete(index);
  }
}
