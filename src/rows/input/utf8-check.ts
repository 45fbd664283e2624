import { isUtf8 } from "node:buffer";
import { UsageError } from "../../base/errors.ts";

const NEWLINE = 0x0a;
const MAX_INCOMPLETE = 3;

/** Checks that a file is UTF-8 without NULs, piece by piece, and says where it is not. */
export class Utf8Check {
  readonly #path: string;
  #incomplete: Buffer = Buffer.alloc(0);
  #bytes = 0;
  #lines = 1;

  constructor(path: string) {
    this.#path = path;
  }

  push(chunk: Buffer): void {
    const piece = this.#incomplete.length === 0 ? chunk : Buffer.concat([this.#incomplete, chunk]);
    if (this.#bytes === 0 && isUtf16(piece))
      throw new UsageError(`${this.#path} is UTF-16; convert it first: iconv -f UTF-16 -t UTF-8`);
    const end = completeEnd(piece);
    this.#check(piece.subarray(0, end));
    this.#incomplete = piece.subarray(end);
  }

  end(): void {
    this.#check(this.#incomplete);
  }

  #check(piece: Buffer): void {
    const nul = piece.indexOf(0);
    if (nul !== -1) throw this.#fault(piece, nul, "a NUL, which cannot be passed to a program");
    if (!isUtf8(piece)) {
      const at = firstInvalid(piece);
      const byte = piece[at]!.toString(16).padStart(2, "0");
      throw this.#fault(piece, at, `the byte 0x${byte}, which is not UTF-8; convert the file with iconv`);
    }
    this.#lines += countLines(piece, piece.length);
    this.#bytes += piece.length;
  }

  #fault(piece: Buffer, at: number, what: string): UsageError {
    const line = this.#lines + countLines(piece, at);
    return new UsageError(`${this.#path}, line ${line}, byte ${this.#bytes + at + 1}: ${what}`);
  }
}

function isUtf16(piece: Buffer): boolean {
  return (piece[0] === 0xff && piece[1] === 0xfe) || (piece[0] === 0xfe && piece[1] === 0xff);
}

/** End of the last complete character. */
function completeEnd(piece: Buffer): number {
  for (let back = 1; back <= Math.min(MAX_INCOMPLETE, piece.length); back += 1) {
    const byte = piece[piece.length - back]!;
    if (byte < 0x80) return piece.length;
    if (byte >= 0xc0) {
      const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return needed > back ? piece.length - back : piece.length;
    }
  }
  return piece.length;
}

/** The byte at which a piece stops being UTF-8. */
function firstInvalid(piece: Buffer): number {
  let valid = 0;
  let end = piece.length;
  while (end - valid > 1) {
    const middle = valid + Math.ceil((end - valid) / 2);
    // A character that the cut splits is not at fault.
    const cut = completeEnd(piece.subarray(0, middle));
    if (isUtf8(piece.subarray(0, cut))) valid = middle;
    else end = middle;
  }
  return completeEnd(piece.subarray(0, valid));
}

function countLines(piece: Buffer, end: number): number {
  let count = 0;
  for (let at = piece.indexOf(NEWLINE); at !== -1 && at < end; at = piece.indexOf(NEWLINE, at + 1))
    count += 1;
  return count;
}
