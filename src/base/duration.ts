/** As messages tell it: `10s`, `1.5s`, `250ms`. */
export function formatDuration(ms: number): string {
  return ms >= 1000 ? `${ms / 1000}s` : `${ms}ms`;
}
