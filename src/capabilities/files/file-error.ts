import { CapabilityError } from "../../base/errors.ts";
import { osError } from "../../native/os-error.ts";

/** Turns an error of Node's file functions into one with the wire's wording; other errors stay unchanged. */
export function fileError(error: unknown): unknown {
  if (error instanceof CapabilityError) return error;
  const { errno, syscall } = error as NodeJS.ErrnoException;
  return typeof errno === "number" && syscall !== undefined ? osError(Math.abs(errno)) : error;
}

/** Runs file operations and translates their errors. Synchronous results are returned, or thrown, synchronously. */
export function inFiles<T>(work: () => T | Promise<T>): T | Promise<T> {
  try {
    const result = work();
    if (!(result instanceof Promise)) return result;
    return result.catch((error: unknown) => {
      throw fileError(error);
    });
  } catch (error) {
    throw fileError(error);
  }
}

/** Ends work whose client has gone, or has lost its rights: nobody would learn how it went, or could stop it. */
export function throwIfGone(signal: AbortSignal): void {
  if (signal.aborted) throw new CapabilityError("OS_ERROR", "the client is gone");
}

export function invalidInput(message: string): CapabilityError {
  return new CapabilityError("INVALID_INPUT", message);
}
