/** Upper bounds in seconds: from an answer at once to a wait of a minute. */
export const DURATION_BOUNDS = [
  0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 60,
] as const;

/** Durations in classes. Counting one takes an addition or two. */
export class Durations {
  /** One count per bound, and one for longer durations. Each covers only its own class. */
  readonly counts = new Float64Array(DURATION_BOUNDS.length + 1);
  sumSeconds = 0;

  /** Adds what took as long so many times. */
  add(seconds: number, times = 1): void {
    this.sumSeconds += seconds * times;
    let index = 0;
    while (index < DURATION_BOUNDS.length && seconds > DURATION_BOUNDS[index]!) index += 1;
    this.counts[index]! += times;
  }

  get total(): number {
    return this.counts.reduce((sum, count) => sum + count, 0);
  }
}

const SETTLED = Promise.resolve();
const MAX_PENDING = 256;

/**
 * What ends in one turn of the event loop ends at the same time: the clock is read once for all of it, because reading it
 * takes as long as a part of a small request. That is also when answers are sent.
 */
export class PendingDurations {
  readonly #durations: (Durations | undefined)[] = Array.from({ length: MAX_PENDING }, () => undefined);
  readonly #startedAtMs = new Float64Array(MAX_PENDING);
  /** Number of simultaneous starts. */
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
