import { slope } from "./statistics.mjs";

const FACTORS = [1, 4, 16];

export const SCALING_METRICS = (unit) => [
  ...FACTORS.map((factor) => ({ name: `${factor}x ${unit}`, better: "lower", context: true })),
  { name: "slope", better: "lower", context: true },
];

/**
 * The same work at 1, 4 and 16 times the size. `work(size)` returns the seconds it took. The slope is the exponent of
 * the cost over the size: 1.0 is linear, so every unit costs the same; 2.0 is quadratic. `scale` is units of cost per
 * second, for the figures per unit.
 */
export async function measureScaling(base, work, { unit, scale }) {
  const sizes = FACTORS.map((factor) => base * factor);
  const costs = [];
  for (const size of sizes) costs.push(await work(size));
  return {
    ...Object.fromEntries(FACTORS.map((factor, i) => [`${factor}x ${unit}`, (costs[i] / sizes[i]) * scale])),
    slope: slope(sizes, costs),
  };
}
