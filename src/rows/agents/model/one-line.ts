import { shorten } from "../../../base/shorten.ts";

const MAX_CHARACTERS = 300;

/** What an endpoint said, as part of a message of one line. */
export function oneLine(said: string): string {
  return shorten(
    said
      .slice(0, MAX_CHARACTERS * 4)
      .replace(/\s+/g, " ")
      .trim(),
    MAX_CHARACTERS,
  );
}
