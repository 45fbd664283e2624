import { base64Between, base64Length } from "../../capabilities/base64-into.ts";
import { JsonText, JsonParts } from "../../rpc/json-text.ts";

/** Bytes collected before encoding. A multiple of 3, so that each block encodes without padding. */
const BLOCK_BYTES = 192 * 1024;
const FIRST_BLOCK_BYTES = 12 * 1024;

/**
 * An answer that is mostly base64 of bytes that arrive in pieces. The raw bytes are not kept, however small the pieces.
 */
export class Base64Answer {
  readonly #parts: Buffer[] = [];
  #partBytes = 0;
  #block = Buffer.alloc(0);
  #filled = 0;

  /** Current size of the answer. */
  get bytes(): number {
    return this.#partBytes + base64Length(this.#filled);
  }

  /** The caller may reuse the piece afterwards. */
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

  /** The whole answer, with the JSON before and after the string's content. */
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
