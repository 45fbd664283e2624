const MIN_YIELD_MS = 250;
const MAX_YIELD_MS = 30_000;

/** The time a call may take: as asked for, within what is sensible. */
export function clampYield(asked: number | null | undefined, fallbackMs: number): number {
  return Math.min(MAX_YIELD_MS, Math.max(MIN_YIELD_MS, asked ?? fallbackMs));
}

/**
 * Waits for a promise, but no longer than that. Tells whether it was fulfilled in time. Rejects when it is rejected in time, or with the
 * signal's reason; a later rejection is nobody's business any more.
 */
export function waitAtMost(
  promise: Promise<unknown>,
  timeMs: number,
  signal?: AbortSignal,
): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const abort = (): void => settle(() => reject(signal?.reason));
    const timer = setTimeout(() => settle(() => resolve(false)), timeMs);
    const settle = (act: () => void): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      act();
    };
    signal?.addEventListener("abort", abort, { once: true });
    if (signal?.aborted) abort();
    else if (timeMs <= 0) settle(() => resolve(false));
    promise.then(
      () => settle(() => resolve(true)),
      (error: unknown) => settle(() => reject(error)),
    );
  });
}
