/**
 * The answer of a handler that has done its part in order and now only waits (a long poll, an upstream server): later
 * requests need not wait with it.
 */
export class Waiting<T> {
  readonly promise: Promise<T>;

  constructor(promise: Promise<T>) {
    this.promise = promise;
  }
}
