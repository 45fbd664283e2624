import type { FileHandle } from "node:fs/promises";

const NEWLINE = 0x0a;
const READ_BYTES = 256 * 1024;

/** A line of a file, and where it begins. */
export interface PlacedLine {
  readonly text: string;
  readonly offset: number;
  /** Behind its line break. */
  readonly end: number;
  /** False for the rest behind the last line break. */
  readonly isComplete: boolean;
}

/** The lines of a file in order. */
export async function* readLines(file: FileHandle): AsyncGenerator<PlacedLine> {
  let rest = Buffer.alloc(0);
  let offset = 0;
  let position = 0;
  for (;;) {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(READ_BYTES), 0, READ_BYTES, position);
    if (bytesRead === 0) break;
    position += bytesRead;
    const read = buffer.subarray(0, bytesRead);
    const piece = rest.length === 0 ? read : Buffer.concat([rest, read]);
    let from = 0;
    for (let at = piece.indexOf(NEWLINE); at !== -1; at = piece.indexOf(NEWLINE, from)) {
      const end = offset + at + 1 - from;
      yield { text: piece.toString("utf8", from, at), offset, end, isComplete: true };
      offset = end;
      from = at + 1;
    }
    rest = piece.subarray(from);
  }
  if (rest.length > 0) yield { text: rest.toString(), offset, end: offset + rest.length, isComplete: false };
}

/** Reads single lines of a file at given offsets. Neighbouring lines are read together. */
export class LineReader {
  readonly #file: FileHandle;
  #window = Buffer.alloc(0);
  #windowAt = 0;

  constructor(file: FileHandle) {
    this.#file = file;
  }

  async read(offset: number): Promise<string> {
    let bytes = READ_BYTES;
    for (;;) {
      const start = offset - this.#windowAt;
      if (start >= 0 && start < this.#window.length) {
        const end = this.#window.indexOf(NEWLINE, start);
        if (end !== -1) return this.#window.toString("utf8", start, end);
        if (start === 0) bytes = this.#window.length * 2;
      }
      await this.#load(offset, bytes);
    }
  }

  async #load(offset: number, bytes: number): Promise<void> {
    const { bytesRead, buffer } = await this.#file.read(Buffer.allocUnsafe(bytes), 0, bytes, offset);
    const read = buffer.subarray(0, bytesRead);
    if (bytesRead < bytes && !read.includes(NEWLINE)) throw new Error(`the ledger has no line at ${offset}`);
    this.#window = read;
    this.#windowAt = offset;
  }
}
