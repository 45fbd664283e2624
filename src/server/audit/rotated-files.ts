import { readdirSync } from "node:fs";
import { basename, dirname } from "node:path";

/** Numbers of the full files of a log, oldest first. */
export function rotatedNumbers(path: string): number[] {
  const prefix = `${basename(path)}.`;
  return readdirSync(dirname(path))
    .filter((name) => name.startsWith(prefix))
    .map((name) => name.slice(prefix.length))
    .filter((rest) => /^[1-9][0-9]{0,14}$/.test(rest))
    .map(Number)
    .toSorted((one, other) => one - other);
}
