/** A stream whose writes can be held back, to go out with one system call. */
interface Corkable {
  cork(): void;
  uncork(): void;
}

/** Holds writes back until the end of the present callback, or of this turn of the event loop. */
export class FlushTimer {
  readonly #stream: Corkable;
  #immediate: NodeJS.Immediate | undefined;
  #ticking = false;

  constructor(stream: Corkable) {
    this.#stream = stream;
  }

  /** What is written from here on goes out when the present callback is done. */
  soon(): void {
    if (this.#ticking) return;
    this.#ticking = true;
    this.#stream.cork();
    process.nextTick(() => {
      this.#ticking = false;
      // What was held back for longer goes out as well: it was written before.
      this.#endTurn();
      this.#stream.uncork();
    });
  }

  /** What is written from here on goes out when this turn of the event loop is done. */
  thisTurn(): void {
    if (this.#ticking || this.#immediate !== undefined) return;
    this.#stream.cork();
    this.#immediate = setImmediate(() => this.#endTurn());
  }

  #endTurn(): void {
    if (this.#immediate === undefined) return;
    clearImmediate(this.#immediate);
    this.#immediate = undefined;
    this.#stream.uncork();
  }
}
