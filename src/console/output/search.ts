import type { LineStore, Stream } from "./line-store.ts";

export interface Match {
  /** Place of the line. */
  readonly index: number;
  readonly start: number;
  readonly end: number;
}

/** More are counted, but not remembered. */
const MAX_MATCHES = 50_000;

/** Finds a text in lines, a slice at a time, and continues as lines arrive. */
export class OutputSearch {
  readonly #store: LineStore;
  readonly #query: string;
  readonly #stream: Stream | undefined;
  readonly #ignoresCase: boolean;
  #matches: Match[] = [];
  #next = 0;

  /** Capital letters in the query make it match them only. */
  constructor(store: LineStore, query: string, stream?: Stream) {
    this.#store = store;
    this.#ignoresCase = query === query.toLowerCase();
    this.#query = query;
    this.#stream = stream;
  }

  get matches(): readonly Match[] {
    return this.#matches;
  }

  /** Whether there were more than it remembers. */
  get isFull(): boolean {
    return this.#matches.length >= MAX_MATCHES;
  }

  /** Searches until the deadline; false if more is left to search. The last line may grow, so it is searched again. */
  run(deadlineMs: number, now: () => number = () => performance.now()): boolean {
    if (this.#query === "") return true;
    const { first, end } = this.#store;
    this.#forget(first);
    if (this.#next < first) this.#next = first;
    for (; this.#next < end; this.#next++) {
      if (this.isFull) return true;
      if (this.#next % 256 === 0 && now() > deadlineMs) return false;
      this.#searchLine(this.#next);
    }
    this.#next = Math.max(first, end - 2);
    return true;
  }

  /** The matches in a line. */
  inLine(index: number): readonly Match[] {
    return this.#matches.slice(this.#firstAt(index), this.#firstAt(index + 1));
  }

  /** The place among the matches of the first one at or after a line. */
  #firstAt(index: number): number {
    let [low, high] = [0, this.#matches.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#matches[middle]!.index < index) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #searchLine(index: number): void {
    while ((this.#matches.at(-1)?.index ?? -1) >= index) this.#matches.pop();
    const line = this.#store.at(index);
    if (line === undefined || line.kind === "gap") return;
    if (this.#stream !== undefined && line.stream !== this.#stream) return;
    const text = this.#ignoresCase ? line.text.toLowerCase() : line.text;
    // Some letters change their length, and then places would be wrong.
    const searched = text.length === line.text.length ? text : line.text;
    for (
      let at = searched.indexOf(this.#query);
      at >= 0;
      at = searched.indexOf(this.#query, at + this.#query.length)
    )
      this.#matches.push({ index, start: at, end: at + this.#query.length });
  }

  #forget(first: number): void {
    if ((this.#matches[0]?.index ?? first) >= first) return;
    this.#matches = this.#matches.slice(this.#firstAt(first));
  }
}
