/**
 * Answer of a handler that has done its ordered part and now only waits (a long poll, an upstream server), so later
 * requests need not wait for it.
 */
export class DeferredAnswer<T> {
  readonly promise: Promise<T>;

  constructor(promise: Promise<T>) {
    this.promise = promise;
  }
}

/**
 * Result of a `DeferredAnswer` that may be large: the answer is built when the client has room for it, not at once for
 * everyone who waited.
 */
export class LazyAnswer<T> {
  readonly make: () => T;

  constructor(make: () => T) {
    this.make = make;
  }
}
