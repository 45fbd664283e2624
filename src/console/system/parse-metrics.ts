const SAMPLE = /^([a-z_]+)(?:\{[^}]*\})? ([0-9.e+-]+)/i;

/** The samples of an OpenMetrics text by name; those that differ in their labels only are added up. */
export function parseMetrics(text: string): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const line of text.split("\n")) {
    const [, name, value] = SAMPLE.exec(line) ?? [];
    if (name !== undefined) sums.set(name, (sums.get(name) ?? 0) + Number(value));
  }
  return sums;
}
