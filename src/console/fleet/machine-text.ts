const MAX_COUNT = 1_000_000;
const MAX_LOAD = 1000;

/** A number from a machine, which may be any: `12`. */
export function countText(count: number): string {
  return count >= MAX_COUNT ? "1000000+" : String(Math.round(count));
}

/** Load for each core: `0.42`, `12.0`. */
export function loadText(load: number): string {
  if (load >= MAX_LOAD) return "1000+";
  return load.toFixed(load < 9.995 ? 2 : 1);
}

/** Filled part of a bar, in percent. */
export function shareOf(part: number, whole: number): number {
  return whole <= 0 ? 0 : Math.min(100, Math.round((part / whole) * 100));
}
