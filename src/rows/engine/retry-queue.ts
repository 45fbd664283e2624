import type { RowItem } from "./row.ts";

/** A row that is to be tried again. */
export interface Retry {
  readonly item: RowItem;
  readonly attempt: number;
  /** The last that is made. */
  readonly lastAttempt: number;
  /** How many attempts of this run were lost. */
  readonly losses?: number;
  /** On the clock of `performance.now`. */
  readonly dueAt: number;
}

/** Rows that wait for their next attempt, the earliest first. The owner limits how many there are. */
export class RetryQueue {
  readonly #waiting: Retry[] = [];

  get size(): number {
    return this.#waiting.length;
  }

  /** When the first is due; undefined if none waits. */
  get dueAt(): number | undefined {
    return this.#waiting[0]?.dueAt;
  }

  add(retry: Retry): void {
    const later = this.#waiting.findLastIndex(({ dueAt }) => dueAt <= retry.dueAt);
    this.#waiting.splice(later + 1, 0, retry);
  }

  /** The first, if it is due. */
  takeDue(now: number): Retry | undefined {
    return (this.dueAt ?? Number.POSITIVE_INFINITY) <= now ? this.#waiting.shift() : undefined;
  }

  /** Takes any that is left. */
  take(): Retry | undefined {
    return this.#waiting.shift();
  }
}

/** How long to wait before an attempt: longer each time, and not the same for rows that failed together. */
export function backoff(attempt: number, firstMs: number, maxMs: number): number {
  const full = Math.min(firstMs * 2 ** (attempt - 2), maxMs);
  return full / 2 + Math.random() * (full / 2);
}
