import { closeSync } from "node:fs";

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

/** Closes a descriptor unless synchronous work with it succeeds. */
export function closeOnError<T>(fd: number, work: () => T): T {
  try {
    return work();
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}
