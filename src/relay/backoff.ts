const FIRST_MS = 500;
const LONGEST_MS = 10_000;

/** Pauses between attempts, each twice as long as the one before. */
export class Backoff {
  #nextMs = FIRST_MS;

  reset(): void {
    this.#nextMs = FIRST_MS;
  }

  /** The next pause. It varies, so that many programs that start together do not stay together. */
  next(longestMs: number = LONGEST_MS): number {
    const waitMs = Math.min(this.#nextMs, longestMs);
    this.#nextMs = 2 * waitMs;
    return waitMs * (0.75 + Math.random() / 2);
  }
}
