import type { Location } from "../../capabilities/files/location.ts";
import { watchMissing } from "../../capabilities/files/watch-missing.ts";

/**
 * One watch at a time: a new one replaces the old. Ids must increase, so that a late notification cannot be mistaken.
 */
export class MissingWatches {
  readonly #notify: (watchId: number) => void;
  #newestId = 0;
  #stop: (() => void) | undefined;

  constructor(notify: (watchId: number) => void) {
    this.#notify = notify;
  }

  async replace(
    watchId: number,
    missing: readonly Location[],
    present: Location | undefined,
  ): Promise<boolean> {
    if (watchId <= this.#newestId) return false;
    this.#newestId = watchId;
    this.#end();
    const stop = await watchMissing(missing, present, () => this.#notify(watchId));
    // Meanwhile a newer one may have arrived, or the connection may be gone.
    if (this.#newestId !== watchId) stop?.();
    else this.#stop = stop;
    return this.#stop !== undefined && this.#stop === stop;
  }

  close(): void {
    this.#newestId = Number.POSITIVE_INFINITY;
    this.#end();
  }

  #end(): void {
    this.#stop?.();
    this.#stop = undefined;
  }
}
