/**
 * Makes at most one call at a time. Callers that come meanwhile share the next one, so that no result is older than the
 * question.
 */
export function sharedCalls<T>(call: () => Promise<T>): () => Promise<T> {
  let current: Promise<T> | undefined;
  let next: Promise<T> | undefined;
  const begin = (): Promise<T> => {
    next = undefined;
    const begun = call();
    const done = (): void => {
      if (current === begun) current = undefined;
    };
    current = begun;
    begun.then(done, done);
    return begun;
  };
  return () => {
    if (current === undefined) return begin();
    next ??= current.then(begin, begin);
    return next;
  };
}
