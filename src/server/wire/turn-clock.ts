const SETTLED = Promise.resolve();

/** A clock that is read once in each turn of the event loop: reading it takes as long as a part of a small request. */
export class TurnClock {
  #nowMs = 0;
  #isRead = false;

  /** Value of `performance.now()`. */
  now(): number {
    if (!this.#isRead) {
      this.#isRead = true;
      this.#nowMs = performance.now();
      void SETTLED.then(this.#expire);
    }
    return this.#nowMs;
  }

  readonly #expire = (): void => {
    this.#isRead = false;
  };
}
