/** Default time that a session tries to reconnect. Servers keep it for 80 s, before Codex 0.169 for 30 s. */
export const RECOVERY_TIMEOUT_MS = 50_000;
/** Longest and shortest pause between two attempts. */
const MAX_PAUSE_MS = 2_000;
const MIN_PAUSE_MS = 50;
/** A timer this late means that the machine was suspended, or the program was busy. */
const LATE_MS = 1_000;

/**
 * Time a session has left to find a connection. Time without one is spent; a connection that lasts restores as much as
 * it lasted. A connection that repeatedly opens and fails at once therefore uses up the time like one that never opens,
 * and the pauses between attempts grow with the time spent.
 */
export class RecoveryBudget {
  readonly #limitMs: number;
  readonly #now: () => number;
  readonly #random: () => number;
  #spentMs = 0;
  #connectedAt: number;

  /** `now` must be monotonic: a clock that can be set does not measure elapsed time. */
  constructor(limitMs: number, now: () => number = () => performance.now(), random = Math.random) {
    this.#limitMs = limitMs;
    this.#now = now;
    this.#random = random;
    this.#connectedAt = now();
  }

  get leftMs(): number {
    return this.#limitMs - this.#spentMs;
  }

  /** The first attempt after a connection that lasted is immediate. */
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

  /**
   * Runs work that should take `plannedMs` at most. If it took far longer, this program was suspended meanwhile and the
   * result proves nothing, so the time does not count.
   */
  async spend<T>(plannedMs: number, work: () => Promise<T>): Promise<T> {
    const begun = this.#now();
    try {
      return await work();
    } finally {
      const tookMs = this.#now() - begun;
      // At least 1 ms, so that the next attempt is not immediate.
      if (tookMs <= plannedMs + LATE_MS) this.#spentMs += Math.max(1, tookMs);
    }
  }
}
