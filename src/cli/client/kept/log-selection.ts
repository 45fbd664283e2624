import type { OutputEvent } from "../../../client/routes/process-events.ts";

const NEWLINE = 0x0a;

/** A piece of output to print. */
export type LogPiece = Pick<OutputEvent, "seq" | "stream" | "bytes">;

/** Passes on the first lines, of all streams together. */
export class FirstLines {
  #left: number;

  constructor(lines: number) {
    this.#left = lines;
  }

  get isDone(): boolean {
    return this.#left === 0;
  }

  /** The part of a piece that belongs to the first lines. */
  take(piece: LogPiece): LogPiece {
    let end = 0;
    while (this.#left > 0 && end < piece.bytes.length) {
      const newline = piece.bytes.indexOf(NEWLINE, end);
      if (newline < 0) return piece;
      end = newline + 1;
      this.#left -= 1;
    }
    return { ...piece, bytes: piece.bytes.subarray(0, end) };
  }
}

/** The last lines, of all streams together, of the pieces so far. */
export class LastLines {
  readonly #lines: number;
  readonly #pieces: LogPiece[] = [];

  constructor(lines: number) {
    this.#lines = lines;
  }

  /** The server retains a bounded amount of output, so that all of it can be held. */
  add(piece: LogPiece): void {
    this.#pieces.push(piece);
  }

  /** The selected pieces. An unfinished line counts. */
  get pieces(): readonly LogPiece[] {
    if (this.#lines === 0) return [];
    let left = this.#lines;
    // A newline at the very end belongs to the last line.
    let isEnd = true;
    for (let index = this.#pieces.length - 1; index >= 0; index -= 1) {
      const piece = this.#pieces[index]!;
      for (let at = piece.bytes.length - 1; at >= 0; at -= 1) {
        if (piece.bytes[at] === NEWLINE && !isEnd) left -= 1;
        isEnd = false;
        if (left === 0)
          return [{ ...piece, bytes: piece.bytes.subarray(at + 1) }, ...this.#pieces.slice(index + 1)];
      }
    }
    return this.#pieces;
  }
}
