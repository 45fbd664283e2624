const ESCAPE = 0x1b;
const FIRST_PRINTABLE = 0x20;
/** A string of a program, such as a picture or the clipboard, may be very long. Its beginning is enough to swallow it. */
const MAX_BYTES = 4 * 1024;
const NOTHING = new Uint8Array(0);

/**
 * The end of an emulator's input, if it stopped within a character or an escape sequence: a reader that continues from
 * here needs these bytes first.
 */
export class Unfinished {
  #bytes: Uint8Array = NOTHING;

  get bytes(): Uint8Array {
    return this.#bytes;
  }

  /** `bytes` were read; `inSequence` says whether the emulator is within an escape sequence now. */
  read(bytes: Uint8Array, inSequence: boolean): void {
    if (inSequence) this.#bytes = withoutControls(this.#sequence(bytes));
    else if (this.#bytes.length > 0 || bytes.at(-1)! >= 0x80) this.#bytes = this.#character(bytes);
  }

  #sequence(bytes: Uint8Array): Uint8Array {
    const start = bytes.lastIndexOf(ESCAPE);
    if (start >= 0) return bytes.slice(start, start + MAX_BYTES);
    if (this.#bytes.length >= MAX_BYTES) return this.#bytes;
    return Buffer.concat([this.#bytes, bytes]).subarray(0, MAX_BYTES);
  }

  #character(bytes: Uint8Array): Uint8Array {
    // A character may have arrived byte by byte.
    const isStarted = this.#bytes.length > 0 && this.#bytes[0] !== ESCAPE;
    const last = isStarted ? Buffer.concat([this.#bytes, bytes]) : bytes;
    const start = last.findLastIndex((byte) => !isContinuation(byte));
    if (start < 0 || last[start]! < 0xc0) return NOTHING;
    return last.length - start < lengthOf(last[start]!) ? last.slice(start) : NOTHING;
  }
}

/** Control characters within a sequence take effect at once, and a reader must not repeat that. */
function withoutControls(bytes: Uint8Array): Uint8Array {
  return bytes.filter((byte) => byte >= FIRST_PRINTABLE || byte === ESCAPE);
}

/** Within a UTF-8 character; what is not UTF-8 may have others. */
const isContinuation = (byte: number): boolean => (byte & 0xc0) === 0x80;

/** Length of the UTF-8 character that starts with `byte`. */
function lengthOf(byte: number): number {
  return byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
}
