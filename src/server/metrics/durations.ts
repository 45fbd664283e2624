/** Upper bounds in seconds: from an answer at once to a wait of a minute. */
export const DURATION_BOUNDS = [
  0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 60,
] as const;

/** How long something took, in classes. Counting is an addition or two. */
export class Durations {
  /** One for each bound, and one for what took longer. Each counts only its own class. */
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
