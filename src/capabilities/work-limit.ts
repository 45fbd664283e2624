import { Fifo } from "../base/fifo.ts";

/** Runs a number of tasks at a time. The one that has waited longest is next. */
export class WorkLimit {
  readonly #waiting = new Fifo<() => void>();
  #free: number;

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}
