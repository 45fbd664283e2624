import { InvalidArgumentError } from "commander";

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Parses a duration such as `10s`, `1.5m` or `500ms` into milliseconds. A number alone means seconds. */
export function parseDuration(text: string): number {
  const [, number, unit = "s"] = /^(\d{1,12}(?:\.\d{1,6})?)(ms|s|m|h|d)?$/.exec(text) ?? [];
  if (number === undefined) throw new InvalidArgumentError("Expected a duration such as 10s, 5m or 2h.");
  return Math.round(Number(number) * UNITS[unit]!);
}
