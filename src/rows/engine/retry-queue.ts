import type { RowItem } from "./row.ts";

/** An attempt that is to be made. */
export interface NextAttempt {
  readonly item: RowItem;
  readonly attempt: number;
  /** The last that is made. */
  readonly lastAttempt: number;
  /** Number of lost attempts in this run. */
  readonly losses?: number;
}

/** A row that is to be tried again. */
interface Retry extends NextAttempt {
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
}

/** Pause before an attempt: growing, and different for rows that failed together. */
export function backoff(attempt: number, firstMs: number, maxMs: number): number {
  const full = Math.min(firstMs * 2 ** (attempt - 2), maxMs);
  return full / 2 + Math.random() * (full / 2);
}
