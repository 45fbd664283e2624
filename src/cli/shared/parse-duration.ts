const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Milliseconds in a text such as `500ms`, `10s`, `1.5h` or `2m`; a number alone means seconds. Undefined for any other text. */
export function parseDuration(text: string): number | undefined {
  const match = /^([0-9]{1,12}(?:\.[0-9]{1,6})?)(ms|s|m|h|d)?$/.exec(text);
  if (match === null) return undefined;
  const [, count = "", unit = "s"] = match;
  return Math.round(Number(count) * (UNIT_MS[unit] ?? 0));
}
