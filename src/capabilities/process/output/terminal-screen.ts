import type { Terminal } from "@xterm/headless";
import type { TerminalSize } from "../../../native/spawn.ts";
import type { Chunk, ProcessEvent } from "./output-log.ts";

/** The output that a terminal shows: the retained part, and what follows. */
export interface TerminalOutput {
  /** The oldest retained event; 1 if nothing was evicted. */
  readonly firstSeq: number;
  chunksAfter(seq: number, maxBytes: number): readonly Chunk[];
  /** Returns a function that removes the listener. */
  listen(listener: (event: ProcessEvent) => void): () => void;
}

/** Contents of a terminal. */
export interface Screen {
  /** Without trailing spaces. */
  readonly lines: readonly string[];
  /** Zero-based, in terminal coordinates. */
  readonly cursor: { readonly row: number; readonly column: number };
  /** False if the beginning of the output was already evicted, so that state it set up may be missing. */
  readonly complete: boolean;
}

/** Maximum output that the emulator has not processed; beyond it, the emulator is discarded and rebuilt on demand. */
const MAX_UNREAD_BYTES = 4 * 1024 * 1024;

/**
 * The screen of a process's terminal. It costs nothing until first requested; from then on it follows the output, so
 * that further requests are cheap.
 */
export class TerminalScreen {
  readonly #output: TerminalOutput;
  #model: { terminal: Terminal; complete: boolean; unlisten: () => void } | undefined;
  #unreadBytes = 0;

  constructor(output: TerminalOutput) {
    this.#output = output;
  }

  async read(size: TerminalSize): Promise<Screen> {
    // A CommonJS module of 200 KB that is seldom needed.
    const { default: headless } = await import("@xterm/headless");
    this.#model ??= this.#open(
      new headless.Terminal({ ...columnsOf(size), scrollback: 0, allowProposedApi: true }),
    );
    const { terminal, complete } = this.#model;
    if (terminal.cols !== size.columns || terminal.rows !== size.rows)
      terminal.resize(size.columns, size.rows);
    await new Promise<void>((resolve) => terminal.write("", resolve));
    const { active } = terminal.buffer;
    const lines = Array.from(
      { length: terminal.rows },
      (_, row) => active.getLine(active.baseY + row)?.translateToString(true) ?? "",
    );
    return { lines, cursor: { row: active.cursorY, column: active.cursorX }, complete };
  }

  #open(terminal: Terminal) {
    const output = this.#output;
    const complete = output.firstSeq === 1;
    for (const { bytes } of output.chunksAfter(0, Number.POSITIVE_INFINITY)) this.#write(terminal, bytes);
    const unlisten = output.listen((event) => {
      if (event.kind !== "output") return;
      if (this.#unreadBytes > MAX_UNREAD_BYTES) this.#giveUp();
      else this.#write(terminal, event.bytes);
    });
    return { terminal, complete, unlisten };
  }

  #write(terminal: Terminal, bytes: Uint8Array): void {
    const { length } = bytes;
    this.#unreadBytes += length;
    // The bytes are reused as soon as this returns.
    terminal.write(bytes.slice(), () => {
      this.#unreadBytes -= length;
    });
  }

  #giveUp(): void {
    this.#model?.unlisten();
    this.#model?.terminal.dispose();
    this.#model = undefined;
    this.#unreadBytes = 0;
  }
}

function columnsOf({ rows, columns }: TerminalSize): { rows: number; cols: number } {
  return { rows, cols: columns };
}
