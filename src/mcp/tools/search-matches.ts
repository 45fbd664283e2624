import { shorten } from "../../base/shorten.ts";

const NUL = 0;
const COLON = 58;
const NEWLINE = 10;
const MAX_LINE_CHARACTERS = 400;

/** A line that a search has found. */
export interface Match {
  readonly path: string;
  readonly line: number;
  readonly text: string;
}

/**
 * Reads the name of a program on a line of its own, and then `PATH NUL NUMBER : TEXT NEWLINE` as often as that holds. A
 * path may contain anything but NUL.
 */
export function parseMatches(
  output: Uint8Array,
  limit: number,
): { readonly program: string; readonly matches: readonly Match[] } {
  const bytes = Buffer.from(output.buffer, output.byteOffset, output.length);
  const start = bytes.indexOf(NEWLINE) + 1;
  const matches: Match[] = [];
  for (let at = start; matches.length < limit; ) {
    const pathEnd = bytes.indexOf(NUL, at);
    const numberEnd = bytes.indexOf(COLON, pathEnd + 1);
    if (pathEnd < 0 || numberEnd < 0) break;
    const line = Number(bytes.toString("latin1", pathEnd + 1, numberEnd));
    if (!Number.isSafeInteger(line)) break;
    const newline = bytes.indexOf(NEWLINE, numberEnd);
    const end = newline < 0 ? bytes.length : newline;
    const text = bytes.toString("utf8", numberEnd + 1, end).replace(/\r$/, "");
    matches.push({
      path: bytes.toString("utf8", at, pathEnd),
      line,
      text: shorten(text, MAX_LINE_CHARACTERS),
    });
    at = end + 1;
  }
  return { program: bytes.toString("utf8", 0, Math.max(0, start - 1)), matches };
}
