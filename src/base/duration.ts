import { UsageError } from "./errors.ts";

/** What timers of the platform can wait for; more would fire at once. It is 24 days. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** As messages tell it: `10s`, `1.5s`, `250ms`. */
export function formatDuration(ms: number): string {
  return ms >= 1000 ? `${ms / 1000}s` : `${ms}ms`;
}

/** Checks a time that a caller gave. Infinity is never. */
export function checkDuration(name: string, ms: number): number {
  if (typeof ms === "number" && ms >= 0) return ms;
  throw new UsageError(`${name} must be a number of milliseconds from 0 on, or Infinity, not ${String(ms)}`);
}

/** Calls `act` after a while, unless the function returned is called before. What is too far away for a timer never comes. */
export function after(ms: number, act: () => void): () => void {
  if (ms > MAX_TIMER_MS) return () => {};
  const timer = setTimeout(act, ms);
  return () => clearTimeout(timer);
}
