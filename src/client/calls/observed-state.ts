import { messageOf } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";

/**
 * A value whose changes are reported to listeners. An error in a listener is logged, and does not affect the others.
 */
export class ObservedState<T> {
  readonly #logger: Logger;
  readonly #listeners = new Set<(value: T) => void>();
  #value: T;

  constructor(value: T, logger: Logger) {
    this.#value = value;
    this.#logger = logger;
  }

  get value(): T {
    return this.#value;
  }

  /** Calls `listener` with every change, until the function returned is called. */
  listen(listener: (value: T) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  change(value: T): void {
    if (this.#value === value) return;
    this.#value = value;
    for (const listener of this.#listeners) {
      try {
        listener(value);
      } catch (error) {
        this.#logger.error("a listener of the session's state failed", { error: messageOf(error) });
      }
    }
  }

  /** Drops all listeners: the value will not change again. */
  forget(): void {
    this.#listeners.clear();
  }
}
