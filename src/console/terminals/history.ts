/** The server keeps 1 MiB by default. */
const MAX_BYTES = 2 * 1024 * 1024;
const LINE_FEED = 0x0a;
/** Enters or leaves the alternate screen. */
// oxlint-disable-next-line no-control-regex
const SWITCH = /\x1b\[\?(?:1049|1047|47)([hl])/;

/** Output from before the screen was painted: it fills what is above the screen. */
export class History {
  #pieces: Uint8Array[] = [];
  #bytes = 0;
  #isWhole = true;

  add(bytes: Uint8Array): void {
    this.#pieces.push(bytes);
    this.#bytes += bytes.length;
    while (this.#bytes > MAX_BYTES) {
      this.#bytes -= this.#pieces.shift()!.length;
      this.#isWhole = false;
    }
  }

  /** Output is missing here. What was before it cannot be continued. */
  cut(): void {
    this.#pieces = [];
    this.#bytes = 0;
    this.#isWhole = false;
  }

  /**
   * What can be written to an empty terminal. If the beginning is missing, it starts with a whole line, and not on the
   * alternate screen, whose drawings have no place above the screen.
   */
  take({ isAlternate }: { readonly isAlternate: boolean }): Uint8Array {
    const all = joined(this.#pieces, this.#bytes);
    const isWhole = this.#isWhole;
    this.#pieces = [];
    this.#bytes = 0;
    if (isWhole) return all;
    // Each byte is a character, so that places in the text are places in the bytes.
    const first = SWITCH.exec(latin1(all));
    if (first === null && isAlternate) return all.subarray(all.length);
    if (first?.[1] === "l") return all.subarray(first.index + first[0].length);
    const lineEnd = all.indexOf(LINE_FEED);
    return lineEnd < 0 ? all.subarray(all.length) : all.subarray(lineEnd + 1);
  }
}

function joined(pieces: readonly Uint8Array[], length: number): Uint8Array {
  const all = new Uint8Array(length);
  let index = 0;
  for (const piece of pieces) {
    all.set(piece, index);
    index += piece.length;
  }
  return all;
}

function latin1(bytes: Uint8Array): string {
  return new TextDecoder("latin1").decode(bytes);
}
