/** Interrupts successive waits with an error. A `Promise.race` in a loop would leak a reaction per iteration. */
export class Interruption {
  #cause: { readonly error: unknown } | undefined;
  #reject: ((error: unknown) => void) | undefined;

  /** Rejects the current wait with this error, and every later one. */
  interrupt(error: unknown): void {
    this.#cause ??= { error };
    this.#reject?.(this.#cause.error);
  }

  /** Settles like `promise`, unless it is interrupted first. */
  wait<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      promise.then(resolve, reject);
      if (this.#cause !== undefined) reject(this.#cause.error);
    });
  }
}
