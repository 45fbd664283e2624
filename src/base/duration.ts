import { UsageError } from "./errors.ts";

/** Longest delay of the platform's timers, 24 days; a longer one would fire at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** Formats a duration for messages: `10s`, `1.5s`, `250ms`. */
export function formatDuration(ms: number): string {
  return ms >= 1000 ? `${ms / 1000}s` : `${ms}ms`;
}

/** Validates a duration from a caller. Infinity means never. */
export function checkDuration(name: string, ms: number): number {
  if (typeof ms === "number" && ms >= 0) return ms;
  throw new UsageError(
    `${name} must be a number of milliseconds, 0 or greater, or Infinity, not ${String(ms)}`,
  );
}

/** Validates a duration that is sent: the wire cannot express Infinity. */
export function checkFinite(name: string, ms: number): number {
  if (checkDuration(name, ms) < Number.MAX_SAFE_INTEGER) return ms;
  throw new UsageError(`${name} must be finite`);
}

/** Calls `act` after `ms`, unless the returned function is called first. A delay beyond the timer range never fires. */
export function after(ms: number, act: () => void): () => void {
  if (ms > MAX_TIMER_MS) return () => {};
  const timer = setTimeout(act, ms);
  return () => clearTimeout(timer);
}
