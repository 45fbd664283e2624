import type { RowItem } from "./row.ts";
import type { RunRowsOptions } from "./rows-plan.ts";

interface Listener {
  /** A row is available, or there are no more. */
  readonly onRead: () => void;
  readonly onError: (error: unknown) => void;
}

/** Reads rows one at a time. A source that is slow, or never answers, blocks nothing else. */
export class RowSource {
  readonly #iterator: AsyncIterator<RowItem> | Iterator<RowItem>;
  readonly #listener: Listener;
  /** True while a row is on its way. */
  isReading = false;
  #hasEnded = false;
  #row: RowItem | undefined;

  constructor(rows: RunRowsOptions["rows"], listener: Listener) {
    this.#iterator = Symbol.asyncIterator in rows ? rows[Symbol.asyncIterator]() : rows[Symbol.iterator]();
    this.#listener = listener;
  }

  /** True if the next row can be requested. */
  get isIdle(): boolean {
    return !this.#hasEnded && !this.isReading;
  }

  /** Requests the next row. */
  ask(): void {
    const reading = this.#iterator.next();
    if (!("then" in reading)) {
      this.#arrived(reading);
      return;
    }
    this.isReading = true;
    reading
      .then((read) => this.#arrived(read), this.#listener.onError)
      .finally(() => {
        this.isReading = false;
        this.#listener.onRead();
      });
  }

  /** Takes the row that was read, if there is one. */
  take(): RowItem | undefined {
    const row = this.#row;
    this.#row = undefined;
    return row;
  }

  /** Lets the source tidy up. */
  async close(): Promise<void> {
    const returned = this.#iterator.return?.();
    if (!this.isReading) await returned;
    else if (returned instanceof Promise) returned.catch(() => {});
  }

  #arrived({ value, done }: IteratorResult<RowItem>): void {
    if (done === true) this.#hasEnded = true;
    else this.#row = value;
  }
}
