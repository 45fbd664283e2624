import type { IBufferCell, Terminal } from "@xterm/headless";
import { Fifo } from "../../../../base/fifo.ts";
import type { TerminalSize } from "../../../../native/spawn.ts";
import { Unfinished } from "./unfinished.ts";

/** How a cell looks. */
export type Style = Pick<
  IBufferCell,
  | "isBold"
  | "isDim"
  | "isItalic"
  | "isUnderline"
  | "isBlink"
  | "isInverse"
  | "isInvisible"
  | "isStrikethrough"
  | "isOverline"
  | "isFgRGB"
  | "isFgPalette"
  | "isBgRGB"
  | "isBgPalette"
  | "getFgColor"
  | "getBgColor"
> & {
  /** Colour and flags. */
  readonly fg: number;
  readonly bg: number;
};

export type Charset = Readonly<Record<string, string>> | undefined;

/** What one of the two screens remembers besides its cells. */
export interface ScreenMemory {
  readonly savedX: number;
  readonly savedY: number;
  readonly savedCurAttrData: Style;
  readonly scrollTop: number;
  readonly scrollBottom: number;
}

/** Parts of the emulator that its interface does not show. The version is pinned; check them at every update. */
interface Core {
  readonly buffers: { readonly normal: ScreenMemory; readonly alt: ScreenMemory };
  readonly coreService: {
    readonly isCursorHidden: boolean;
    readonly decPrivateModes: {
      readonly cursorStyle?: "block" | "underline" | "bar" | undefined;
      readonly cursorBlink?: boolean | undefined;
    };
  };
  readonly coreMouseService: { readonly activeEncoding: string };
  readonly _charsetService: { readonly glevel: number; readonly _charsets: readonly Charset[] };
  readonly _inputHandler: {
    readonly _curAttrData: Style;
    readonly _parser: { readonly currentState: number };
    parse(bytes: Uint8Array): void;
    eraseInDisplay(params: { readonly params: readonly number[] }): boolean;
  };
}

/** State of the parser between escape sequences. */
const GROUND = 0;
/** Bytes parsed at once. */
const PIECE_BYTES = 4 * 1024;
/** How long the server may be busy with one emulator before others get their turn. */
export const TURN_MS = 2;
/** The shortest delay of a timer. */
const REST_MS = 1;
/** Every cell of a terminal costs memory, and a client may ask for any size. */
const MAX_COLUMNS = 1000;
const MAX_ROWS = 300;

type Cells = { readonly rows: number; readonly cols: number };

type Task =
  | { readonly bytes: Uint8Array }
  | { readonly size: Cells }
  | { readonly look: () => Promise<void> };

/** A terminal emulator that reads what it is given a little at a time, in order. */
export class Emulator {
  readonly #headless: typeof import("@xterm/headless");
  readonly #tasks = new Fifo<Task>();
  readonly #progress: () => void;
  #terminal: Terminal;
  /** The size that it will have when it has read everything. */
  #size: Cells;
  #unfinished = new Unfinished();
  #unreadBytes = 0;
  #busy = false;
  #damaged = false;

  /** `progress` is called after every turn. */
  static async open(size: TerminalSize, progress: () => void): Promise<Emulator> {
    // A CommonJS module of 200 KB that is seldom needed.
    const { default: headless } = await import("@xterm/headless");
    return new Emulator(headless, size, progress);
  }

  private constructor(headless: typeof import("@xterm/headless"), size: TerminalSize, progress: () => void) {
    this.#headless = headless;
    this.#progress = progress;
    this.#size = cells(size);
    this.#terminal = this.#blank(this.#size);
  }

  get terminal(): Terminal {
    return this.#terminal;
  }

  get core(): Core {
    return coreOf(this.#terminal);
  }

  /** What it has read of a character or an escape sequence that is not complete. */
  get unfinished(): Uint8Array {
    return this.#unfinished.bytes;
  }

  get unreadBytes(): number {
    return this.#unreadBytes;
  }

  /** True if the emulator failed on some output, and started again with an empty screen. */
  get damaged(): boolean {
    return this.#damaged;
  }

  /** The bytes are reused as soon as this returns, so they are copied. */
  write(bytes: Uint8Array): void {
    this.#unreadBytes += bytes.length;
    // Not `slice`, which shares the memory of a Buffer.
    const copy = Buffer.from(bytes);
    for (let start = 0; start < copy.length; start += PIECE_BYTES)
      this.#tasks.push({ bytes: copy.subarray(start, start + PIECE_BYTES) });
    this.#work();
  }

  resize(size: TerminalSize): void {
    const { rows, cols } = cells(size);
    if (this.#size.cols === cols && this.#size.rows === rows) return;
    this.#size = { rows, cols };
    this.#tasks.push({ size: this.#size });
    this.#work();
  }

  /**
   * Calls `look` when everything written so far has been read, and nothing else. Nothing more is read until it is done.
   */
  whenRead<T>(look: () => T | Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#tasks.push({ look: async () => Promise.resolve().then(look).then(resolve, reject) });
      this.#work();
    });
  }

  #work({ rested = true }: { rested?: boolean } = {}): void {
    if (this.#busy) return;
    this.#busy = true;
    // A flood leaves time for everything else.
    if (rested) setImmediate(() => this.#turn());
    else setTimeout(() => this.#turn(), REST_MS);
  }

  #turn(): void {
    this.#busy = false;
    const end = performance.now() + TURN_MS;
    do {
      const task = this.#tasks.shift();
      if (task === undefined) break;
      if ("look" in task) {
        this.#wait(task.look());
        return;
      }
      if ("size" in task) this.#resize(task.size);
      else this.#read(task.bytes);
    } while (performance.now() < end);
    if (this.#tasks.size > 0) this.#work({ rested: false });
    this.#progress();
  }

  #wait(looked: Promise<void>): void {
    this.#busy = true;
    void looked.then(() => {
      this.#busy = false;
      this.#work();
    });
  }

  #resize({ rows, cols }: Cells): void {
    this.#guard({ rows, cols }, () => this.#terminal.resize(cols, rows));
  }

  #read(bytes: Uint8Array): void {
    this.#unreadBytes -= bytes.length;
    const { _inputHandler: input } = this.core;
    const { rows, cols } = this.#terminal;
    this.#guard({ rows, cols }, () => {
      input.parse(bytes);
      this.#unfinished.read(bytes, input._parser.currentState !== GROUND);
    });
  }

  /** Output is anybody's: a fault of the emulator must not be one of the server. */
  #guard(size: Cells, work: () => void): void {
    try {
      work();
    } catch {
      this.#damaged = true;
      this.#terminal.dispose();
      this.#terminal = this.#blank(size);
      this.#unfinished = new Unfinished();
    }
  }

  #blank(size: Cells): Terminal {
    const terminal = new this.#headless.Terminal({
      ...size,
      scrollback: 0,
      allowProposedApi: true,
      // It would report faults of programs on the console.
      logLevel: "off",
    });
    // The emulator fails if everything up to the last cell is erased. That is the whole screen.
    terminal.parser.registerCsiHandler({ final: "J" }, ([kind]) => {
      const { cursorX, cursorY } = terminal.buffer.active;
      const isAtEnd = cursorY === terminal.rows - 1 && cursorX >= terminal.cols - 1;
      return kind === 1 && isAtEnd && coreOf(terminal)._inputHandler.eraseInDisplay({ params: [2] });
    });
    return terminal;
  }
}

function coreOf(terminal: Terminal): Core {
  return (terminal as unknown as { _core: Core })._core;
}

function cells({ rows, columns }: TerminalSize): Cells {
  return { rows: Math.min(rows, MAX_ROWS), cols: Math.min(columns, MAX_COLUMNS) };
}
