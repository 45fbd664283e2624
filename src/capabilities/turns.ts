import { setImmediate } from "node:timers/promises";

/** This long one piece of work may keep everybody else waiting. */
const TURN_MS = 8;

/** Divides long work into turns: whoever loops over what a peer decides asks after each step whether it is somebody else's turn. */
export class Turns {
  #began = performance.now();

  get over(): boolean {
    return performance.now() - this.#began >= TURN_MS;
  }

  /** Resolves when everything that was waiting has had its turn. */
  async next(): Promise<void> {
    await setImmediate();
    this.#began = performance.now();
  }
}
