/** The longest pause between two tries, and the shortest that is one. */
const MAX_PAUSE_MS = 2_000;
const MIN_PAUSE_MS = 50;
/** A timer that is this late has slept with its machine, or with a program that did something else. */
const LATE_MS = 1_000;

/**
 * How much time a session has left to find a connection. Time without one is spent; a connection that holds gives back what it held. So one that comes up and dies at once, again
 * and again, uses up the time as surely as one that does not come up, and the pauses between tries grow with what is spent.
 */
export class RecoveryBudget {
  readonly #limitMs: number;
  readonly #now: () => number;
  readonly #random: () => number;
  #spentMs = 0;
  #connectedAt: number;

  /** `now` has to be monotonic: a clock that is set says nothing about time that has passed. */
  constructor(limitMs: number, now: () => number = () => performance.now(), random = Math.random) {
    this.#limitMs = limitMs;
    this.#now = now;
    this.#random = random;
    this.#connectedAt = now();
  }

  get leftMs(): number {
    return this.#limitMs - this.#spentMs;
  }

  /** The first try after a connection that held is made at once. */
  pauseMs(): number {
    if (this.#spentMs === 0) return 0;
    const pauseMs = Math.min(MAX_PAUSE_MS, Math.max(MIN_PAUSE_MS, this.#spentMs / 2));
    return Math.min(pauseMs * (0.5 + this.#random() / 2), this.leftMs);
  }

  connected(): void {
    this.#connectedAt = this.#now();
  }

  lost(): void {
    this.#spentMs = Math.max(0, this.#spentMs - (this.#now() - this.#connectedAt));
  }

  /** Does something that is to take `plannedMs` at most. If it took far longer, this program slept meanwhile, and what it found tells nothing: it does not count. */
  async spend<T>(plannedMs: number, work: () => Promise<T>): Promise<T> {
    const begun = this.#now();
    try {
      return await work();
    } finally {
      const tookMs = this.#now() - begun;
      // Never nothing, so that the next try is not made at once.
      if (tookMs <= plannedMs + LATE_MS) this.#spentMs += Math.max(1, tookMs);
    }
  }
}
