/** `finally` for work that is synchronous or asynchronous. */
export function withCleanUp<T>(work: () => T, cleanUp: () => void): T {
  let result: T;
  try {
    result = work();
  } catch (error) {
    cleanUp();
    throw error;
  }
  if (result instanceof Promise) return result.finally(cleanUp) as T;
  cleanUp();
  return result;
}
