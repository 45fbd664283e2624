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
