import { Fifo } from "../../../base/fifo.ts";
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

/** The last lines, of all streams together, of the pieces so far. Holds no pieces that cannot belong to them. */
export class LastLines {
  readonly #lines: number;
  readonly #pieces = new Fifo<{ readonly piece: LogPiece; readonly newlines: number }>();
  /** In all pieces. */
  #newlines = 0;

  constructor(lines: number) {
    this.#lines = lines;
  }

  /** Whether there are as many lines as wanted. */
  get isFull(): boolean {
    return this.#newlines > this.#lines;
  }

  add(piece: LogPiece): void {
    if (this.#lines === 0) return;
    const newlines = countNewlines(piece.bytes);
    this.#pieces.push({ piece, newlines });
    this.#newlines += newlines;
    // The last newline may end the last line, so one more is needed.
    for (;;) {
      const oldest = this.#pieces.peek();
      if (oldest === undefined || this.#newlines - oldest.newlines <= this.#lines) return;
      this.#pieces.shift();
      this.#newlines -= oldest.newlines;
    }
  }

  /** The selected pieces. An unfinished line counts. */
  get pieces(): readonly LogPiece[] {
    if (this.#lines === 0) return [];
    const pieces = Array.from({ length: this.#pieces.size }, (_, index) => this.#pieces.at(index)!.piece);
    let left = this.#lines;
    // A newline at the very end belongs to the last line.
    let isEnd = true;
    for (let index = pieces.length - 1; index >= 0; index -= 1) {
      const piece = pieces[index]!;
      for (let at = piece.bytes.length - 1; at >= 0; at -= 1) {
        if (piece.bytes[at] === NEWLINE && !isEnd) left -= 1;
        isEnd = false;
        if (left === 0)
          return [{ ...piece, bytes: piece.bytes.subarray(at + 1) }, ...pieces.slice(index + 1)];
      }
    }
    return pieces;
  }
}

function countNewlines(bytes: Uint8Array): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) count += 1;
  return count;
}
