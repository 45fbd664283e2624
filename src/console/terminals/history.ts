import { joinBytes } from "../../base/join-bytes.ts";

/** The server keeps 1 MiB by default. */
const MAX_BYTES = 2 * 1024 * 1024;
const LINE_FEED = 0x0a;
/** Enters or leaves the alternate screen. */
// oxlint-disable-next-line no-control-regex
const SWITCH = /\x1b\[\?(?:1049|1047|47)([hl])/;

/** Output from before the screen was painted: it fills the scrollback. */
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

  /** Marks missing output, before which nothing can be continued. */
  cut(): void {
    this.#pieces = [];
    this.#bytes = 0;
    this.#isWhole = false;
  }

  /**
   * Output to write to an empty terminal. If the beginning is missing, it starts with a whole line, and not on the
   * alternate screen, whose drawings do not belong into the scrollback.
   */
  take({ isAlternate }: { readonly isAlternate: boolean }): Uint8Array {
    const all = joinBytes(this.#pieces);
    const isWhole = this.#isWhole;
    this.#pieces = [];
    this.#bytes = 0;
    if (isWhole) return all;
    // Each byte is a character, so that places in the text are places in the bytes.
    const first = SWITCH.exec(new TextDecoder("latin1").decode(all));
    if (first === null && isAlternate) return all.subarray(all.length);
    if (first?.[1] === "l") return all.subarray(first.index + first[0].length);
    const lineEnd = all.indexOf(LINE_FEED);
    return lineEnd < 0 ? all.subarray(all.length) : all.subarray(lineEnd + 1);
  }
}
