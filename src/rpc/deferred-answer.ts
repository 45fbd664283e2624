/**
 * The answer of a handler that has done its part in order and now only waits (a long poll, an upstream server): later
 * requests need not wait with it.
 */
export class DeferredAnswer<T> {
  readonly promise: Promise<T>;

  constructor(promise: Promise<T>) {
    this.promise = promise;
  }
}

/** What a `DeferredAnswer` may resolve with where its answer can be large: the answer is made when the client has room for it, and not at once for all who waited. */
export class LazyAnswer<T> {
  readonly make: () => T;

  constructor(make: () => T) {
    this.make = make;
  }
}
