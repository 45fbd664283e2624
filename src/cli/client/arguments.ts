import { InvalidArgumentError } from "commander";
import { parseDuration } from "../shared/parse-duration.ts";

/** Parses a duration such as `10s`, `1.5m` or `500ms` into milliseconds. A number alone means seconds. */
export function parseDurationArgument(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError("Expected a duration such as 10s, 5m or 2h.");
  return ms;
}

/** Collects the values of an option that may be given several times. */
export function repeated(value: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, value];
}
