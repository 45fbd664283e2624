export function quantile(values, q) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (sorted.length - 1) * q;
  const low = Math.floor(at);
  const high = Math.ceil(at);
  return sorted[low] + (sorted[high] - sorted[low]) * (at - low);
}

export const summarize = (values) => ({
  median: quantile(values, 0.5),
  min: Math.min(...values),
  max: Math.max(...values),
});

/** How many times better `a` is than `b`, round by round: neighbours in time share the noise of the machine. */
export function betterRatios(a, b, better) {
  return a.map((value, round) => (better === "higher" ? value / b[round] : b[round] / value));
}
