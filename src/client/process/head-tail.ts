import { UsageError } from "../../base/errors.ts";
import { concatBytes, cutEnd, cutStart } from "./utf8-boundary.ts";

const FIRST_BUFFER_BYTES = 1024;

/** How much a `HeadTail` keeps. */
export interface HeadTailOptions {
  /** Bytes kept in total. */
  readonly maxBytes: number;
  /** Bytes of these kept from the beginning. Default: half. */
  readonly headBytes?: number;
}

/** How to show the kept bytes. */
export interface ShowOptions {
  /** Shows less than is kept: half from the beginning, half from the end. */
  readonly maxBytes?: number;
  /** A line shown where bytes are missing; it does not count towards any limit. */
  readonly marker?: (omittedBytes: number) => string;
}

/** Both ends of the collected bytes. If nothing is omitted, `head` is all of it. */
export interface HeadTailView {
  readonly head: Uint8Array;
  readonly tail: Uint8Array;
  readonly omittedBytes: number;
}

/** The default marker: `… 12345 bytes omitted …`. */
export function omittedLine(omittedBytes: number): string {
  return `… ${omittedBytes} ${omittedBytes === 1 ? "byte" : "bytes"} omitted …`;
}

/**
 * Keeps the first and last bytes of what it collects, and counts the rest. Uses no more memory than it keeps. If
 * anything was omitted, both ends are cut between UTF-8 characters.
 */
export class HeadTail {
  readonly #headBytes: number;
  readonly #tailBytes: number;
  #head: Uint8Array = new Uint8Array(0);
  #headLength = 0;
  // Grows to its full size first; only then does it become a ring, and `#tailEnd` is the position of the oldest byte.
  #tail: Uint8Array = new Uint8Array(0);
  #tailLength = 0;
  #tailEnd = 0;
  #totalBytes = 0;

  constructor({ maxBytes, headBytes = Math.floor(maxBytes / 2) }: HeadTailOptions) {
    if (!Number.isSafeInteger(maxBytes) || maxBytes < 0)
      throw new UsageError(`maxBytes must be a whole number, 0 or greater, not ${maxBytes}`);
    if (!Number.isSafeInteger(headBytes) || headBytes < 0 || headBytes > maxBytes)
      throw new UsageError(`headBytes must be a whole number from 0 to ${maxBytes}, not ${headBytes}`);
    this.#headBytes = headBytes;
    this.#tailBytes = maxBytes - headBytes;
  }

  /** Total number of bytes collected. */
  get totalBytes(): number {
    return this.#totalBytes;
  }

  /** Bytes that `bytes()` and `text()` do not show, including cut parts of characters. */
  get omittedBytes(): number {
    return this.#totalBytes === this.#headLength + this.#tailLength ? 0 : this.view().omittedBytes;
  }

  /** Copies the bytes, so the caller may reuse its buffer. */
  push(bytes: Uint8Array): void {
    this.#totalBytes += bytes.length;
    const forHead = Math.min(bytes.length, this.#headBytes - this.#headLength);
    if (forHead > 0) {
      this.#head = grown(this.#head, this.#headLength, forHead, this.#headBytes);
      this.#head.set(bytes.subarray(0, forHead), this.#headLength);
      this.#headLength += forHead;
    }
    if (forHead < bytes.length && this.#tailBytes > 0) this.#pushTail(bytes.subarray(forHead));
  }

  /** Resets everything, including counts and memory. */
  clear(): void {
    this.#head = new Uint8Array(0);
    this.#tail = new Uint8Array(0);
    this.#headLength = this.#tailLength = this.#tailEnd = this.#totalBytes = 0;
  }

  /** Both ends, as copies. */
  view(maxBytes = Number.POSITIVE_INFINITY): HeadTailView {
    const kept = this.#kept();
    const missing = this.#totalBytes - kept.length;
    if (missing === 0 && kept.length <= maxBytes)
      return { head: kept, tail: new Uint8Array(0), omittedBytes: 0 };
    let headEnd = this.#headLength;
    let tailStart = this.#headLength;
    if (maxBytes < kept.length) {
      // If bytes are already missing, neither end may extend across the gap.
      const half = Math.floor(maxBytes / 2);
      headEnd = missing > 0 ? Math.min(half, this.#headLength) : half;
      tailStart = Math.max(kept.length - maxBytes + headEnd, missing > 0 ? this.#headLength : 0);
    }
    headEnd = cutEnd(kept, headEnd);
    tailStart = cutStart(kept, tailStart);
    const head = kept.subarray(0, headEnd);
    const tail = kept.subarray(tailStart);
    return { head, tail, omittedBytes: this.#totalBytes - head.length - tail.length };
  }

  /** The kept bytes, with a marker only if one is given. */
  bytes(options: ShowOptions = {}): Uint8Array {
    const { head, tail, omittedBytes } = this.view(options.maxBytes);
    if (omittedBytes === 0 || options.marker === undefined) return concatBytes(head, tail);
    const startOfLine = head.length === 0 || head.at(-1) === 0x0a;
    const line = `${startOfLine ? "" : "\n"}${options.marker(omittedBytes)}\n`;
    return concatBytes(concatBytes(head, new TextEncoder().encode(line)), tail);
  }

  /** The kept bytes as text. Invalid UTF-8 becomes U+FFFD. */
  text(options: ShowOptions = {}): string {
    // A byte order mark is part of the output.
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(this.bytes(options));
  }

  #pushTail(bytes: Uint8Array): void {
    const newest = bytes.subarray(Math.max(0, bytes.length - this.#tailBytes));
    this.#tail = grown(this.#tail, this.#tailLength, newest.length, this.#tailBytes);
    const untilWrap = Math.min(newest.length, this.#tail.length - this.#tailEnd);
    this.#tail.set(newest.subarray(0, untilWrap), this.#tailEnd);
    this.#tail.set(newest.subarray(untilWrap), 0);
    this.#tailEnd = (this.#tailEnd + newest.length) % this.#tailBytes;
    this.#tailLength = Math.min(this.#tailLength + newest.length, this.#tailBytes);
  }

  #kept(): Uint8Array {
    const kept = new Uint8Array(this.#headLength + this.#tailLength);
    kept.set(this.#head.subarray(0, this.#headLength));
    if (this.#tailLength < this.#tailBytes) {
      kept.set(this.#tail.subarray(0, this.#tailLength), this.#headLength);
    } else {
      kept.set(this.#tail.subarray(this.#tailEnd), this.#headLength);
      kept.set(this.#tail.subarray(0, this.#tailEnd), this.#headLength + this.#tail.length - this.#tailEnd);
    }
    return kept;
  }
}

/** A larger buffer, doubled as needed up to its limit. */
function grown(buffer: Uint8Array, length: number, more: number, maxBytes: number): Uint8Array {
  if (length + more <= buffer.length || buffer.length === maxBytes) return buffer;
  const larger = new Uint8Array(
    Math.min(maxBytes, Math.max(length + more, buffer.length * 2, FIRST_BUFFER_BYTES)),
  );
  larger.set(buffer.subarray(0, length));
  return larger;
}
