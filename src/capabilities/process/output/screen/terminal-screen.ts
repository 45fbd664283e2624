import type { TerminalSize } from "../../../../native/spawn.ts";
import type { Chunk, ProcessEvent } from "../output-log.ts";
import { Emulator } from "./emulator.ts";
import { paintScreen, readRows } from "./paint-screen.ts";

/** The output that a terminal shows: the retained part, and what follows. */
export interface TerminalOutput {
  /** The oldest retained event; 1 if nothing was evicted. */
  readonly firstSeq: number;
  /** One past the newest event. */
  readonly state: { readonly nextSeq: number };
  chunksAfter(seq: number, maxBytes: number): readonly Chunk[];
  /** Returns a function that removes the listener. */
  listen(listener: (event: ProcessEvent) => void): () => void;
  pauseOutput(): void;
  resumeOutput(): void;
}

/** Contents of a terminal. */
export interface Screen {
  /** Without trailing spaces. */
  readonly lines: readonly string[];
  /** Zero-based, in terminal coordinates. */
  readonly cursor: { readonly row: number; readonly column: number };
  /** False if the beginning of the output was already evicted, so that state it set up may be missing. */
  readonly complete: boolean;
  /** First event that is not part of it. */
  readonly nextSeq: number;
  /** Size of the emulator, which is bounded. */
  readonly size: TerminalSize;
  /** Output that makes an empty terminal show it; see `paintScreen`. */
  readonly paint: Uint8Array | undefined;
}

/** Unread output at which a followed program is paused, as a real terminal would make it wait. */
const PAUSE_BYTES = 256 * 1024;
/** Maximum output that the emulator has not read, if no program waits for it; then it is rebuilt on demand. */
const MAX_UNREAD_BYTES = 4 * 1024 * 1024;

interface Model {
  readonly emulator: Emulator;
  readonly complete: boolean;
}

/**
 * The screen of a process's terminal. It costs nothing until it is requested or followed; from then on it reads the
 * output, so that further requests are cheap. If it is followed from the start, it never misses anything: a program
 * that writes faster than the emulator reads has to wait.
 */
export class TerminalScreen {
  readonly #output: TerminalOutput;
  readonly #size: () => TerminalSize;
  #model: Promise<Model> | undefined;
  /** The screen when the process ended. */
  #last: Screen | undefined;
  #followed = false;
  #paused = false;

  constructor(output: TerminalOutput, size: () => TerminalSize) {
    this.#output = output;
    this.#size = size;
  }

  /** Reads all output from now on. */
  follow(): void {
    this.#followed = true;
    // Paused until the emulator is loaded.
    this.#pause();
    this.#model ??= this.#open();
  }

  async read({ paint = false }: { paint?: boolean } = {}): Promise<Screen> {
    if (this.#last !== undefined) return paint ? this.#last : { ...this.#last, paint: undefined };
    const { emulator, complete } = await this.#current();
    emulator.resize(this.#size());
    const { nextSeq } = this.#output.state;
    return emulator.whenRead(() => screenOf(emulator, { complete, nextSeq, paint }));
  }

  /** The emulator that follows the output; it may be discarded while it is awaited. */
  async #current(): Promise<Model> {
    for (;;) {
      this.#model ??= this.#open();
      const opening = this.#model;
      const model = await opening;
      if (opening === this.#model) return model;
    }
  }

  async #open(): Promise<Model> {
    const output = this.#output;
    const emulator = await Emulator.open(this.#size(), () => this.#makeRoom(emulator));
    const complete = output.firstSeq === 1;
    for (const { bytes } of output.chunksAfter(0, Number.POSITIVE_INFINITY)) emulator.write(bytes);
    const unlisten = output.listen((event) => {
      if (event.kind === "closed") this.#finish({ emulator, complete });
      if (event.kind !== "output") return;
      emulator.resize(this.#size());
      emulator.write(event.bytes);
      if (this.#followed && emulator.unreadBytes > PAUSE_BYTES) this.#pause();
      if (!this.#followed && emulator.unreadBytes > MAX_UNREAD_BYTES) this.#giveUp(unlisten);
    });
    this.#makeRoom(emulator);
    return { emulator, complete };
  }

  #pause(): void {
    if (this.#paused) return;
    this.#paused = true;
    this.#output.pauseOutput();
  }

  #makeRoom(emulator: Emulator): void {
    if (!this.#paused || emulator.unreadBytes > PAUSE_BYTES / 2) return;
    this.#paused = false;
    this.#output.resumeOutput();
  }

  /** Nothing will change any more, so only the screen is kept. */
  #finish({ emulator, complete }: Model): void {
    const { nextSeq } = this.#output.state;
    void emulator.whenRead(async () => {
      this.#last = await screenOf(emulator, { complete, nextSeq, paint: true });
      this.#model = undefined;
    });
  }

  /** Waiters still get the emulator's screen; it reads nothing more. */
  #giveUp(unlisten: () => void): void {
    unlisten();
    this.#model = undefined;
  }
}

async function screenOf(
  emulator: Emulator,
  { complete, nextSeq, paint }: { complete: boolean; nextSeq: number; paint: boolean },
): Promise<Screen> {
  const { terminal } = emulator;
  const { active } = terminal.buffer;
  const lines = await readRows(
    terminal.rows,
    (row) => active.getLine(active.baseY + row)?.translateToString(true) ?? "",
  );
  return {
    lines,
    cursor: { row: active.cursorY, column: active.cursorX },
    complete: complete && !emulator.damaged,
    nextSeq,
    size: { rows: terminal.rows, columns: terminal.cols },
    paint: paint ? await paintScreen(emulator) : undefined,
  };
}
