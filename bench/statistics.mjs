export function quantile(values, q) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (sorted.length - 1) * q;
  const low = Math.floor(at);
  const high = Math.ceil(at);
  return sorted[low] + (sorted[high] - sorted[low]) * (at - low);
}

/** Statistics of the measured values; null if there are none. */
export function summarize(values) {
  const measured = values.filter((value) => typeof value === "number" && Number.isFinite(value));
  if (measured.length === 0) return null;
  return {
    median: quantile(measured, 0.5),
    min: Math.min(...measured),
    max: Math.max(...measured),
    rounds: measured.length,
  };
}

/** `a` divided by `b`, round by round: neighbouring measurements share the noise of the machine. */
export const ratiosOf = (a, b) =>
  a.map((value, round) =>
    typeof value === "number" && typeof b[round] === "number" ? value / b[round] : null,
  );

/**
 * The exponent e of `cost ~ size^e`, by least squares over the logarithms: 1 if a unit costs the same at every size.
 */
export function slope(sizes, costs) {
  const x = sizes.map(Math.log);
  const y = costs.map(Math.log);
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [meanX, meanY] = [mean(x), mean(y)];
  const covariance = x.reduce((sum, value, i) => sum + (value - meanX) * (y[i] - meanY), 0);
  return covariance / x.reduce((sum, value) => sum + (value - meanX) ** 2, 0);
}
