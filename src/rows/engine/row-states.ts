import type { RowStatus } from "./row.ts";

const STATUSES: readonly RowStatus[] = ["pending", "running", "completed", "failed", "cancelled", "lost"];
const FIRST_CAPACITY = 1_024;
const MAX_ATTEMPTS = 2 ** 16 - 1;

/** Status and attempts of every row, in three bytes for each. */
export class RowStates {
  #statuses = new Uint8Array(FIRST_CAPACITY);
  #attempts = new Uint16Array(FIRST_CAPACITY);

  statusOf(index: number): RowStatus {
    return STATUSES[this.#statuses[index] ?? 0]!;
  }

  attemptsOf(index: number): number {
    return this.#attempts[index] ?? 0;
  }

  set(index: number, status: RowStatus, attempts: number): void {
    if (index >= this.#statuses.length) this.#grow(index + 1);
    this.#statuses[index] = STATUSES.indexOf(status);
    this.#attempts[index] = Math.min(attempts, MAX_ATTEMPTS);
  }

  #grow(needed: number): void {
    const capacity = Math.max(needed, this.#statuses.length * 2);
    const [statuses, attempts] = [this.#statuses, this.#attempts];
    this.#statuses = new Uint8Array(capacity);
    this.#statuses.set(statuses);
    this.#attempts = new Uint16Array(capacity);
    this.#attempts.set(attempts);
  }
}
