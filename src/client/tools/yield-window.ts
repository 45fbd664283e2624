const MIN_YIELD_MS = 250;
const MAX_YIELD_MS = 30_000;

/** The requested duration of a call, clamped to the allowed range. */
export function clampYield(asked: number | null | undefined, fallbackMs: number): number {
  return Math.min(MAX_YIELD_MS, Math.max(MIN_YIELD_MS, asked ?? fallbackMs));
}

/**
 * Waits for a promise for a limited time. Resolves with whether it was fulfilled in time. Rejects if it is rejected in
 * time, or with the signal's reason; a later rejection is ignored.
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
