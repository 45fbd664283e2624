import { joinBytes } from "../../../base/join-bytes.ts";
import { Pattern } from "../../../mcp/processes/pattern.ts";
import type { LogPiece } from "./log-selection.ts";

const NEWLINE = 0x0a;
/** Longer lines are matched piece by piece. */
const MAX_LINE_BYTES = 64 * 1024;
/** For the lines of one piece of output. Some patterns would take longer than the universe lasts. */
const TIMEOUT_MS = 5_000;

/** Selects the lines that match a regular expression, of each stream on its own. */
export class MatchingLines {
  readonly #pattern: Pattern;
  /** The beginnings of lines. */
  readonly #open = new Map<LogPiece["stream"], LogPiece>();

  /** Throws a UsageError for a pattern that is none. */
  constructor(pattern: string) {
    this.#pattern = new Pattern(pattern);
  }

  /** The lines that a piece completes and that match, each as one. Throws a UsageError if matching takes too long. */
  take(piece: LogPiece): LogPiece[] {
    const { stream } = piece;
    if (piece.bytes.length === 0) return [];
    const open = this.#open.get(stream);
    this.#open.delete(stream);
    const lines: LogPiece[] = [];
    let start = 0;
    while (start < piece.bytes.length) {
      const newline = piece.bytes.indexOf(NEWLINE, start);
      const end = newline < 0 ? piece.bytes.length : newline + 1;
      const bytes = piece.bytes.subarray(start, end);
      const begun = start === 0 ? open : undefined;
      const line =
        begun === undefined ? { ...piece, bytes } : { ...begun, bytes: joinBytes([begun.bytes, bytes]) };
      if (newline >= 0 || line.bytes.length >= MAX_LINE_BYTES) lines.push(line);
      else this.#open.set(stream, line);
      start = end;
    }
    return this.#matching(lines);
  }

  /** Lines that have not ended, once nothing can follow. */
  rest(): LogPiece[] {
    const lines = [...this.#open.values()];
    this.#open.clear();
    return this.#matching(lines);
  }

  #matching(lines: readonly LogPiece[]): LogPiece[] {
    if (lines.length === 0) return [];
    const matches = this.#pattern.matches(lines.map(textOf), TIMEOUT_MS);
    return lines.filter((_, index) => matches[index]);
  }
}

/** A terminal ends its lines with CR LF. */
function textOf({ bytes }: LogPiece): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    .toString("utf8")
    .replace(/\r?\n$/, "");
}
