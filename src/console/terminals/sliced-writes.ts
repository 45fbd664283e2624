import { sliceBytes } from "../../base/emulator-bounds.ts";
import type { TerminalSurface } from "./terminal-session.ts";

interface Write {
  readonly data: string | Uint8Array;
  readonly parsed: (() => void) | undefined;
  start: number;
}

/**
 * Writes to xterm.js in slices, each once the previous one is parsed. xterm.js checks the clock between two writes, and
 * pauses for a while after taking too long.
 */
export class SlicedWrites {
  readonly #terminal: Omit<TerminalSurface, "resize">;
  readonly #afterSlice: () => void;
  /** Writes that are not parsed yet. The session limits them. */
  readonly #writes: Write[] = [];

  constructor(terminal: Omit<TerminalSurface, "resize">, afterSlice: () => void) {
    this.#terminal = terminal;
    this.#afterSlice = afterSlice;
  }

  /** `parsed` is called when the screen has all of it. */
  write(data: string | Uint8Array, parsed?: () => void): void {
    this.#writes.push({ data, parsed, start: 0 });
    if (this.#writes.length === 1) this.#next();
  }

  #next(): void {
    const [write] = this.#writes;
    if (write === undefined) return;
    const { data, start } = write;
    write.start = Math.min(data.length, start + sliceBytes(this.#terminal));
    this.#terminal.write(data.slice(start, write.start), () => {
      this.#afterSlice();
      if (write.start === data.length) {
        this.#writes.shift();
        write.parsed?.();
      }
      this.#next();
    });
  }
}
