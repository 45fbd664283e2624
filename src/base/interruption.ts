/** Ends one wait after another when something happens. A `Promise.race` in a loop would keep a reaction of every round. */
export class Interruption {
  #cause: { readonly error: unknown } | undefined;
  #reject: ((error: unknown) => void) | undefined;

  /** The present wait rejects with this error, and so does every later one. */
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
