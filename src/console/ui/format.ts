const UNITS = ["B", "kB", "MB", "GB", "TB"];

/** A size for people: `873 B`, `1.2 MB`. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit === 0 || value >= 99.95 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}

const SPANS = [
  [86_400, "d"],
  [3600, "h"],
  [60, "m"],
] as const;

/** A time span in its two largest units: `4s`, `3m 20s`, `2h 5m`, `3d 4h`. */
export function formatSpan(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const units = [...SPANS.map(([size, name]) => ({ size, name })), { size: 1, name: "s" }];
  const first = units.findIndex(({ size }) => seconds >= size);
  if (first < 0) return "0s";
  const [large, small] = units.slice(first, first + 2);
  const whole = `${Math.floor(seconds / large!.size)}${large!.name}`;
  if (small === undefined) return whole;
  const rest = Math.floor((seconds % large!.size) / small.size);
  return rest === 0 ? whole : `${whole} ${rest}${small.name}`;
}

/** A share of one processor: `0`, `0.4`, `12`, `215`. */
export function formatPercent(percent: number): string {
  if (percent < 0.05) return "0";
  return percent < 9.95 ? percent.toFixed(1) : String(Math.round(percent));
}

/** A short time: `0.4 ms`, `35 ms`, `1.25 s`. */
export function formatMs(ms: number): string {
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}
