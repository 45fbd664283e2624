/** A stream whose writes can be corked and sent with one system call. */
interface Corkable {
  cork(): void;
  uncork(): void;
}

/** Maximum number of messages held back: with this many, the system call costs little. */
const MAX_HELD = 16;

/** Corks writes until the end of the current callback, or of this turn of the event loop. */
export class FlushTimer {
  readonly #stream: Corkable;
  #immediate: NodeJS.Immediate | undefined;
  #ticking = false;
  /** Urgent messages of the current callback. */
  #held = 0;

  constructor(stream: Corkable) {
    this.#stream = stream;
  }

  /** Flushes later writes at the end of the current callback. */
  soon(): void {
    this.#held += 1;
    if (this.#held === 1) this.#stream.cork();
    else if (this.#held % MAX_HELD === 0) {
      // The reader can start on these while more are produced.
      this.#stream.uncork();
      this.#stream.cork();
    }
    if (this.#ticking) return;
    this.#ticking = true;
    process.nextTick(() => this.#endCallback());
  }

  /** Flushes writes marked with `soon` during `work` when it returns. */
  during<T>(work: () => T): T {
    if (this.#ticking) return work();
    this.#ticking = true;
    try {
      return work();
    } finally {
      this.#endCallback();
    }
  }

  /** Flushes later writes at the end of this turn of the event loop. */
  thisTurn(): void {
    if (this.#held > 0 || this.#immediate !== undefined) return;
    this.#stream.cork();
    this.#immediate = setImmediate(() => this.#endTurn());
  }

  /** Flushes at once. */
  now(): void {
    const isHeld = this.#held > 0;
    this.#held = 0;
    this.#endTurn();
    if (isHeld) this.#stream.uncork();
  }

  #endCallback(): void {
    this.#ticking = false;
    // Also flushes earlier writes that were held back.
    if (this.#held > 0) this.now();
  }

  #endTurn(): void {
    if (this.#immediate === undefined) return;
    clearImmediate(this.#immediate);
    this.#immediate = undefined;
    this.#stream.uncork();
  }
}
