import { InvalidArgumentError } from "commander";
import { describeFileError, usageFailure } from "../shared/failure.ts";
import { parseDuration } from "../shared/parse-duration.ts";
import { readSmallFile } from "../shared/read-small-file.ts";

/** Parses a duration such as `10s`, `1.5m` or `500ms` into milliseconds. A number alone means seconds. */
export function parseDurationArgument(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError("Expected a duration such as 10s, 5m or 2h.");
  return ms;
}

/** Parses a whole number of at least 1. */
export function parseCount(text: string): number {
  const count = parseNumber(text);
  if (count === 0) throw new InvalidArgumentError("Expected a whole number of at least 1.");
  return count;
}

/** Parses a whole number. */
export function parseNumber(text: string): number {
  const count = Number(text);
  if (text.trim() === "" || !Number.isSafeInteger(count) || count < 0)
    throw new InvalidArgumentError("Expected a whole number.");
  return count;
}

/** Collects the values of a repeatable option. */
export function repeated(value: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, value];
}

/** The text of a file that an option names; `what` describes it in errors. */
export function readNamedFile(path: string, what: string): string {
  try {
    return readSmallFile(path).toString();
  } catch (error) {
    throw usageFailure(`cannot read the ${what} ${path}: ${describeFileError(error)}`);
  }
}

/** The token in the file of `--token-file`; undefined without it. */
export function readToken(path: string | undefined): string | undefined {
  return readSecret("token", path);
}

/** The secret in a file, without the line end; undefined without a file. */
export function readSecret(what: string, path: string | undefined): string | undefined {
  return path === undefined ? undefined : readNamedFile(path, `${what} in`).trim();
}
