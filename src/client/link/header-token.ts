import { UsageError } from "../../base/errors.ts";

/** A token read from a file often ends with a newline. Any other character that a header cannot carry is a mistake. */
export function headerToken(token: string): string {
  const trimmed = token.trim();
  if (/^[\x21-\x7e]+$/.test(trimmed)) return trimmed;
  throw new UsageError(
    trimmed === "" ? "the token is empty" : "the token holds characters that no header can carry",
  );
}
