import type { IdleOptions } from "../settings/server-options.ts";

/** Counts what keeps a server busy: connections, sessions, and processes that outlive both. */
export class Occupancy {
  readonly #idle: IdleOptions | undefined;
  #count = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(idle?: IdleOptions) {
    this.#idle = idle;
    this.#rest();
  }

  get isIdle(): boolean {
    return this.#count === 0;
  }

  /** The server is busy until the returned function is called. */
  enter(): () => void {
    this.#count += 1;
    clearTimeout(this.#timer);
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.#count -= 1;
      if (this.isIdle) this.#rest();
    };
  }

  #rest(): void {
    if (this.#idle === undefined) return;
    this.#timer = setTimeout(this.#idle.call, this.#idle.afterMs);
    // The listeners keep the program alive, not this timer.
    this.#timer.unref();
  }
}
