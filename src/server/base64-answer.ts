import { base64Between, base64Length } from "../native/base64-into.ts";
import { JsonParts } from "../rpc/json-parts.ts";
import { JsonText } from "../rpc/json-text.ts";

/** Gathered before it becomes base64. A multiple of 3, so that each block becomes base64 without padding. */
const BLOCK_BYTES = 192 * 1024;
const FIRST_BLOCK_BYTES = 12 * 1024;

/** An answer that is mostly the base64 of bytes that come in pieces. The bytes themselves are not kept, however small the pieces are. */
export class Base64Answer {
  readonly #parts: Buffer[] = [];
  #partBytes = 0;
  #block = Buffer.alloc(0);
  #filled = 0;

  /** What it takes by now. */
  get bytes(): number {
    return this.#partBytes + base64Length(this.#filled);
  }

  /** The piece may be used again after this. */
  push(piece: Uint8Array): void {
    for (let start = 0; start < piece.length; ) {
      if (this.#filled === BLOCK_BYTES) this.#flush();
      this.#makeRoom(piece.length - start);
      const end = Math.min(piece.length, start + this.#block.length - this.#filled);
      this.#block.set(piece.subarray(start, end), this.#filled);
      this.#filled += end - start;
      start = end;
    }
  }

  /** The whole answer: JSON that stands before the string's content, and behind it. */
  finish(before: string, after: string): JsonText | JsonParts {
    const last = this.#block.subarray(0, this.#filled);
    if (this.#parts.length === 0) return new JsonText(`${before}${last.toString("base64")}${after}`);
    return new JsonParts([
      Buffer.from(before),
      ...this.#parts,
      base64Between("", last, ""),
      Buffer.from(after),
    ]);
  }

  #makeRoom(wanted: number): void {
    const { length } = this.#block;
    if (this.#filled < length) return;
    const larger = Buffer.allocUnsafeSlow(
      Math.min(BLOCK_BYTES, Math.max(FIRST_BLOCK_BYTES, length * 4, wanted)),
    );
    larger.set(this.#block);
    this.#block = larger;
  }

  #flush(): void {
    const part = base64Between("", this.#block, "");
    this.#parts.push(part);
    this.#partBytes += part.length;
    this.#filled = 0;
  }
}
