/** A stream whose writes can be held back, to go out with one system call. */
interface Corkable {
  cork(): void;
  uncork(): void;
}

/** More than so many are not held back for each other: the system call costs little beside so many messages. */
const MAX_HELD = 16;

/** Holds writes back until the end of the present callback, or of this turn of the event loop. */
export class FlushTimer {
  readonly #stream: Corkable;
  #immediate: NodeJS.Immediate | undefined;
  #ticking = false;
  /** Urgent messages of the present callback. */
  #held = 0;

  constructor(stream: Corkable) {
    this.#stream = stream;
  }

  /** What is written from here on goes out when the present callback is done. */
  soon(): void {
    this.#held += 1;
    if (this.#held === 1) this.#stream.cork();
    else if (this.#held % MAX_HELD === 0) this.#letGo();
    if (this.#ticking) return;
    this.#ticking = true;
    process.nextTick(() => this.#endCallback());
  }

  /** What `soon` is called for while `work` runs goes out when it is done. */
  during<T>(work: () => T): T {
    if (this.#ticking) return work();
    this.#ticking = true;
    try {
      return work();
    } finally {
      this.#endCallback();
    }
  }

  /** What is written from here on goes out when this turn of the event loop is done. */
  thisTurn(): void {
    if (this.#held > 0 || this.#immediate !== undefined) return;
    this.#stream.cork();
    this.#immediate = setImmediate(() => this.#endTurn());
  }

  /** What is held back goes out at once. */
  now(): void {
    const isHeld = this.#held > 0;
    this.#held = 0;
    this.#endTurn();
    if (isHeld) this.#stream.uncork();
  }

  /** The reader can begin with these while more are being made. */
  #letGo(): void {
    this.#stream.uncork();
    this.#stream.cork();
  }

  #endCallback(): void {
    this.#ticking = false;
    // What was held back for longer goes out as well: it was written before.
    if (this.#held > 0) this.now();
  }

  #endTurn(): void {
    if (this.#immediate === undefined) return;
    clearImmediate(this.#immediate);
    this.#immediate = undefined;
    this.#stream.uncork();
  }
}
