import type { IBufferCell, ITerminalAddon, Terminal } from "@xterm/headless";
import { boundedGrid, boundEmulator, sliceBytes } from "../../../../base/emulator-bounds.ts";
import { Fifo } from "../../../../base/fifo.ts";
import type { TerminalSize } from "../../../../native/spawn.ts";
import { awaitTurn } from "./emulator-turns.ts";
import { Unfinished } from "./unfinished.ts";

/** Appearance of a cell. */
export type Style = Omit<IBufferCell, "getWidth" | "getChars" | "getCode"> & {
  /** Colour and flags. */
  readonly fg: number;
  readonly bg: number;
};

export type Charset = Readonly<Record<string, string>> | undefined;

/** State that one of the two screens has besides its cells. */
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
    readonly _parser: {
      readonly currentState: number;
      clearOscHandler(code: number): void;
      clearDcsHandler(sequence: { readonly intermediates: string; readonly final: string }): void;
    };
    parse(bytes: Uint8Array): void;
  };
}

/** State of the parser between escape sequences. */
const GROUND = 0;
/** A resize takes as long as some output, and a program that causes many has to wait for it alike. */
const RESIZE_BYTES = 4 * 1024;
/**
 * Titles, colours and links, which screens do not show. Without these handlers, the emulator collects the strings, each
 * of which may have 10 MB, splits them and keeps a list of links.
 */
const UNUSED_STRINGS = [0, 1, 2, 4, 8, 10, 11, 12, 104, 110, 111, 112];
const STATUS_REQUEST = { intermediates: "$", final: "q" };

interface Library {
  readonly Terminal: typeof Terminal;
  readonly Unicode11Addon: new () => ITerminalAddon;
}

/** CommonJS modules that are seldom needed: 200 KB, and 50 KB of character widths. */
async function loadLibrary(): Promise<Library> {
  const { default: headless } = await import("@xterm/headless");
  // @ts-expect-error The path has no declarations: those of the package bring the names of the DOM into every file.
  const { default: widths } = await import("@xterm/addon-unicode11/lib/addon-unicode11.js");
  return { Terminal: headless.Terminal, Unicode11Addon: (widths as Library).Unicode11Addon };
}

type Cells = ReturnType<typeof boundedGrid>;

type Task =
  | { readonly bytes: Uint8Array; start: number }
  | { readonly size: Cells }
  | { readonly inspect: () => Promise<void> };

/** A terminal emulator that processes its input in order, a little at a time. */
export class Emulator {
  readonly #library: Library;
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
    return new Emulator(await loadLibrary(), size, progress);
  }

  private constructor(library: Library, size: TerminalSize, progress: () => void) {
    this.#library = library;
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

  /** The bytes of an incomplete character or escape sequence. */
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
    // `slice` would share the memory of a Buffer.
    this.#tasks.push({ bytes: Buffer.from(bytes), start: 0 });
    this.#work();
  }

  resize(size: TerminalSize): void {
    const { rows, cols } = cells(size);
    if (this.#size.cols === cols && this.#size.rows === rows) return;
    this.#size = { rows, cols };
    this.#unreadBytes += RESIZE_BYTES;
    this.#tasks.push({ size: this.#size });
    this.#work();
  }

  /**
   * Calls `inspect` when exactly everything written so far has been processed. Nothing more is processed until it is
   * done.
   */
  whenRead<T>(inspect: () => T | Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#tasks.push({ inspect: async () => Promise.resolve().then(inspect).then(resolve, reject) });
      this.#work();
    });
  }

  #work(): void {
    if (this.#busy) return;
    this.#busy = true;
    awaitTurn((isOver) => this.#turn(isOver));
  }

  #turn(isOver: () => boolean): void {
    this.#busy = false;
    do {
      const task = this.#tasks.peek();
      if (task === undefined) break;
      if ("inspect" in task) {
        this.#tasks.shift();
        this.#wait(task.inspect());
        return;
      }
      if ("size" in task) this.#resize(task.size);
      else if (!this.#read(task)) continue;
      this.#tasks.shift();
    } while (!isOver());
    if (this.#tasks.size > 0) this.#work();
    this.#progress();
  }

  #wait(inspected: Promise<void>): void {
    this.#busy = true;
    void inspected.then(() => {
      this.#busy = false;
      this.#work();
    });
  }

  #resize({ rows, cols }: Cells): void {
    this.#unreadBytes -= RESIZE_BYTES;
    this.#guard({ rows, cols }, () => this.#terminal.resize(cols, rows));
  }

  /** Reads a little of it. Returns whether that was the rest. */
  #read(task: { readonly bytes: Uint8Array; start: number }): boolean {
    const { _inputHandler: input } = this.core;
    const { rows, cols } = this.#terminal;
    const slice = task.bytes.subarray(task.start, task.start + sliceBytes({ rows, cols }));
    task.start += slice.length;
    this.#unreadBytes -= slice.length;
    this.#guard({ rows, cols }, () => {
      input.parse(slice);
      this.#unfinished.read(slice, input._parser.currentState !== GROUND);
    });
    return task.start === task.bytes.length;
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
    const terminal = new this.#library.Terminal({
      ...size,
      scrollback: 0,
      allowProposedApi: true,
      // It would log faults of programs to the console.
      logLevel: "off",
    });
    // Without these, an emoji has the width of a letter, and the cursor is not where the program believes it to be.
    terminal.loadAddon(new this.#library.Unicode11Addon());
    terminal.unicode.activeVersion = "11";
    boundEmulator(terminal);
    const { _parser: parser } = coreOf(terminal)._inputHandler;
    for (const code of UNUSED_STRINGS) parser.clearOscHandler(code);
    parser.clearDcsHandler(STATUS_REQUEST);
    return terminal;
  }
}

function coreOf(terminal: Terminal): Core {
  return (terminal as unknown as { _core: Core })._core;
}

function cells({ rows, columns }: TerminalSize): Cells {
  return boundedGrid({ rows, cols: columns });
}
