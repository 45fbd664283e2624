/**
 * Whether one of many may take another slot: it gets at most three quarters of what the others leave. So whoever comes
 * late finds a free one, and nobody loses what it has.
 */
export function isWithinShare(own: number, total: number, max: number): boolean {
  return own < 3 * (max - total);
}
