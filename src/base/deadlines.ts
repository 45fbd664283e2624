import { after } from "./duration.ts";

/** Calls `act` when the signal is aborted, at once if it is. Returns what stops waiting for that. */
export function onAbort(signal: AbortSignal | undefined, act: (reason: unknown) => void): () => void {
  const aborted = (): void => act(signal?.reason);
  if (signal?.aborted === true) aborted();
  else signal?.addEventListener("abort", aborted, { once: true });
  return () => signal?.removeEventListener("abort", aborted);
}

/** Those whose abort has to reach a signal of `anySignal`. */
const sources = new WeakMap<AbortSignal, readonly AbortSignal[]>();

/**
 * A signal that is aborted with the first of these. `AbortSignal.any` alone does not keep its sources: Node then collects
 * an `AbortSignal.timeout` among them, and it never fires.
 */
export function anySignal(signals: readonly AbortSignal[]): AbortSignal {
  // oxlint-disable-next-line no-restricted-properties
  const either = AbortSignal.any([...signals]);
  sources.set(either, signals);
  return either;
}

/** Settles like `promise`, or rejects with the signal's reason if it is aborted first. The work itself continues. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const done = onAbort(signal, reject);
    promise.then(
      (value) => {
        done();
        resolve(value);
      },
      (error: unknown) => {
        done();
        reject(error);
      },
    );
  });
}

/** Settles like `promise`, or rejects with `late()` after the timeout. Infinity means no timeout. */
export async function within<T>(promise: Promise<T>, timeoutMs: number, late: () => Error): Promise<T> {
  let cancel: (() => void) | undefined;
  const timeout = new Promise<never>((_, reject) => {
    cancel = after(timeoutMs, () => reject(late()));
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    cancel?.();
  }
}

/** Resolves once `promise` has settled either way, or after the timeout. */
export async function settledWithin(promise: Promise<unknown>, timeoutMs: number): Promise<void> {
  await within(promise, timeoutMs, () => new Error("late")).catch(() => {});
}

/** Resolves after `ms`, or as soon as the signal is aborted. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
      return;
    }
    const done = (): void => {
      cancel();
      signal.removeEventListener("abort", done);
      resolve();
    };
    const cancel = after(ms, done);
    signal.addEventListener("abort", done, { once: true });
  });
}

/**
 * Runs `work` with a signal that aborts with `outer`, or with `late()` after the timeout. Leaves no timer or listener
 * behind.
 */
export async function limited<T>(
  { timeoutMs, outer, late }: { timeoutMs: number; outer: AbortSignal; late: () => Error },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = new AbortController();
  const unlink = onAbort(outer, (reason) => limit.abort(reason));
  const cancel = after(timeoutMs, () => limit.abort(late()));
  try {
    return await work(limit.signal);
  } finally {
    cancel();
    unlink();
  }
}
