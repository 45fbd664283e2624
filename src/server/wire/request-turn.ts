import { Turns } from "../../capabilities/turns.ts";

/** The clock is read once for this many requests: reading it takes as long as a part of a small one. */
const REQUESTS_PER_CHECK = 8;

/**
 * Ends the turn of a client that has many requests queued, so that others do not wait for all of them. A client with a
 * few requests at a time never waits.
 */
export class RequestTurn {
  readonly #turns = new Turns();
  readonly #next: () => void;
  #untilCheck = REQUESTS_PER_CHECK;
  #isWaiting = false;

  /** `next` is called when the client has its next turn. */
  constructor(next: () => void) {
    this.#next = next;
  }

  /** Call it before each request. */
  isOver(): boolean {
    if (this.#isWaiting) return true;
    this.#untilCheck -= 1;
    if (this.#untilCheck > 0) return false;
    this.#untilCheck = REQUESTS_PER_CHECK;
    if (!this.#turns.over) return false;
    this.#isWaiting = true;
    void this.#turns.next().then(() => {
      this.#isWaiting = false;
      this.#next();
    });
    return true;
  }
}
