/** Interval of probes. */
export const ASK_MS = 1_000;
/** Number of silences after which the program is given up, if it has not answered promptly in between. */
export const MAX_SILENCES = 10;

export interface StallWatchOptions {
  /** Asks the program for a message. */
  ask(): void;
  /** Continues the program if it was stopped. */
  revive(): void;
  /** It does not answer, or only after being revived. Called once. */
  lost(): void;
}

/**
 * Watches a program that others can stop. One that is stopped once is revived. Silences are counted, and not time, which
 * also passes while the whole machine sleeps.
 */
export class StallWatch {
  readonly #options: StallWatchOptions;
  readonly #timer: NodeJS.Timeout;
  #isSilent = false;
  #isRevived = false;
  #silences = 0;

  constructor(options: StallWatchOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#check(), ASK_MS).unref();
  }

  /** Called for everything it sends. */
  heard(): void {
    this.#isSilent = false;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    if (this.#isSilent) {
      this.#silences += 1;
      this.#isRevived = true;
      if (this.#silences < MAX_SILENCES) this.#options.revive();
      else {
        this.close();
        this.#options.lost();
      }
      return;
    }
    // An answer after a revival proves nothing: another program may stop it again and again.
    if (!this.#isRevived) this.#silences = 0;
    this.#isRevived = false;
    this.#isSilent = true;
    this.#options.ask();
  }
}
