import type { Durations } from "./durations.ts";

const SETTLED = Promise.resolve();
const MAX_PENDING = 256;

/**
 * What ends in one turn of the event loop ends at the same time: the clock is read once for all of it, because reading it
 * takes as long as a part of a small request. That is also when answers are sent.
 */
export class PendingDurations {
  readonly #durations: (Durations | undefined)[] = Array.from({ length: MAX_PENDING }, () => undefined);
  readonly #startedAtMs = new Float64Array(MAX_PENDING);
  /** How many have begun together. */
  readonly #times = new Float64Array(MAX_PENDING);
  #count = 0;

  add(durations: Durations, startedAtMs: number): void {
    const last = this.#count - 1;
    if (last >= 0 && this.#durations[last] === durations && this.#startedAtMs[last] === startedAtMs) {
      this.#times[last]! += 1;
      return;
    }
    if (this.#count === 0) void SETTLED.then(this.flush);
    this.#durations[this.#count] = durations;
    this.#startedAtMs[this.#count] = startedAtMs;
    this.#times[this.#count] = 1;
    this.#count += 1;
    if (this.#count === MAX_PENDING) this.flush();
  }

  readonly flush = (): void => {
    if (this.#count === 0) return;
    const now = performance.now();
    for (let index = 0; index < this.#count; index += 1)
      this.#durations[index]!.add((now - this.#startedAtMs[index]!) / 1000, this.#times[index]);
    this.#count = 0;
  };
}
