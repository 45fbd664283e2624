import { boundedGrid } from "../../base/emulator-bounds.ts";
import {
  ExecError,
  type ExitReport,
  type Host,
  type ProcessEvent,
  type RemoteProcess,
} from "../../client/browser.ts";
import { History } from "./history.ts";
import { isReply } from "./replies.ts";
import { CLEAR, clearAfter } from "./sequences.ts";

/** Rows and columns. */
export interface GridSize {
  readonly cols: number;
  readonly rows: number;
}

export type TerminalMode = "control" | "follow";

/** Which kept process is meant. */
export interface TerminalAddress {
  readonly name: string;
  /** Default: this principal, or the only other one that has a process of that name. */
  readonly owner?: string | undefined;
}

/** What shows the screen: an emulator such as xterm.js. */
export interface TerminalSurface extends GridSize {
  write(data: string | Uint8Array, parsed?: () => void): void;
  resize(cols: number, rows: number): void;
}

/**
 * - `opening`: it is being attached and painted;
 * - `open`;
 * - `ended`: the process has ended, its last screen is shown;
 * - `missing`: the server has no process of that name;
 * - `unsuitable`: the process has no terminal;
 * - `lost`: the session with the server is gone;
 * - `failed`.
 */
export type TerminalState =
  | { readonly kind: "opening" | "missing" | "unsuitable" | "lost" }
  | { readonly kind: "open"; readonly mode: TerminalMode }
  | { readonly kind: "ended"; readonly mode: TerminalMode; readonly report: ExitReport }
  | { readonly kind: "failed"; readonly error: unknown };

export interface TerminalSessionOptions extends TerminalAddress {
  readonly mode: TerminalMode;
  /** The size that there is room for. */
  readonly room: GridSize;
  /** The surface shows something else: it stays above the screen, with this line below it. */
  readonly above?: string;
  readonly onState: (state: TerminalState) => void;
}

/** Written to the emulator, but not parsed: at most this much, and less before more is written. */
const MOST_UNPARSED = 256 * 1024;
const ENOUGH_PARSED = 64 * 1024;
/** Input on its way. More is refused, or a page without a connection would collect it for ever. */
const MOST_UNSENT = 64 * 1024 * 1024;
/** With more input on its way, questions of a program that does not read the answers are not answered. */
const MOST_UNSENT_REPLIES = 4 * 1024;
/** Typed before the terminal is open: at most this many characters. */
const MOST_EARLY = 64 * 1024;
/** A person who has typed just now is the one whose terminal answers a program's questions. */
const ANSWERS_MS = 10_000;
const MISSING_OUTPUT = "… some output is missing here: there was more than could be shown …";

/**
 * One kept terminal, shown on an emulator. The screen comes from the server's copy, what is above it from the output
 * that the server still has, and the rest from the events that follow. A lost connection is replaced by the library;
 * after a gap the screen is painted again.
 */
export class TerminalSession {
  readonly #host: Host;
  readonly #surface: TerminalSurface;
  readonly #options: TerminalSessionOptions;
  readonly #stop = new AbortController();
  #state: TerminalState = { kind: "opening" };
  #remote: RemoteProcess | undefined;
  #mode: TerminalMode;
  #room: GridSize;
  /** Events before this one are on the screen. */
  #nextSeq = 0;
  /** Settles when the screen has been painted again. Output waits for it, or an older screen would be painted over it. */
  #repainted: Promise<void> = Promise.resolve();
  #unparsed = 0;
  #parsed: (() => void) | undefined;
  /** While old output is parsed again, the questions in it are not answered a second time. */
  #repeating = 0;
  #unsent = 0;
  /** Typed before the terminal was open. */
  #early = "";
  #typedMs = Number.NEGATIVE_INFINITY;
  /** When the size was last changed from here. */
  #sizedMs = Number.NEGATIVE_INFINITY;
  /** How many connections are attached, as far as known. */
  others = 0;

  constructor(host: Host, surface: TerminalSurface, options: TerminalSessionOptions) {
    this.#host = host;
    this.#surface = surface;
    this.#options = options;
    this.#mode = options.mode;
    this.#room = options.room;
  }

  get state(): TerminalState {
    return this.#state;
  }

  /** Bytes that wait to be sent. */
  get unsent(): number {
    return this.#unsent;
  }

  /** Whether the window has the size of somebody else. */
  get isForeignSize(): boolean {
    return this.#state.kind === "open" && !isSameSize(this.#surface, this.#room);
  }

  /** Attaches, and shows everything until the process ends or `close` is called. Never rejects. */
  async run(): Promise<void> {
    try {
      const remote = await this.#attach();
      if (this.#stop.signal.aborted) return await remote.detach();
      this.#remote = remote;
      if (!remote.tty) return this.#become({ kind: "unsuitable" });
      await this.#follow(remote);
    } catch (error) {
      if (!this.#stop.signal.aborted) this.#become(stateOf(error));
    }
  }

  /** Passes on what a person typed, or what the emulator answers to a program. */
  input(data: string): void {
    const reply = isReply(data);
    if (reply && (this.#repeating > 0 || this.#unsent > MOST_UNSENT_REPLIES || !this.#answers())) return;
    if (!reply) this.#typedMs = performance.now();
    if (!reply && this.#state.kind === "opening") {
      if (this.#early.length + data.length <= MOST_EARLY) this.#early += data;
      return;
    }
    this.send(data).catch(() => {
      // The process has ended, or the connection has: both are shown.
    });
  }

  /** Writes to the terminal, in order. Resolves when the server has accepted all of it. */
  async send(data: string | Uint8Array, options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    const remote = this.#remote;
    if (remote === undefined || this.#state.kind !== "open" || this.#mode !== "control") return;
    const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
    if (this.#unsent + bytes.length > MOST_UNSENT)
      throw new ExecError("LIMIT_REACHED", "too much input waits to be sent to the terminal");
    this.#unsent += bytes.length;
    try {
      await remote.write(bytes, options);
    } finally {
      this.#unsent -= bytes.length;
    }
    // Who typed last decides about the size.
    if (this.isForeignSize) await this.#resize(this.#room);
  }

  /** There is room for another size now. */
  fit(room: GridSize): void {
    if (isSameSize(room, this.#room)) return;
    this.#room = room;
    const hasNoProcess = this.#state.kind !== "open" && this.#state.kind !== "opening";
    if (hasNoProcess) this.#surface.resize(room.cols, room.rows);
    if (this.#state.kind !== "open" || this.#mode !== "control") return;
    this.#resize(room).catch(() => {
      // The connection is lost; the size is sent again with the next one.
    });
  }

  /** The window has this size, as a list said that was asked for at `askedMs`. */
  async sizeIs(size: GridSize, askedMs: number): Promise<void> {
    const grid = boundedGrid(size);
    if (this.#state.kind !== "open" || askedMs < this.#sizedMs || isSameSize(grid, this.#surface)) return;
    this.#surface.resize(grid.cols, grid.rows);
    await this.repaint();
  }

  /** Shows what the server has, instead of what is shown. */
  async repaint(): Promise<void> {
    if (this.#state.kind !== "open") return;
    const painted = this.#paint(CLEAR);
    this.#repainted = painted.catch(() => {});
    await painted;
  }

  /** Ends the process, and waits for its end. */
  async end(): Promise<void> {
    if (this.#remote !== undefined) await endTerminal(this.#remote);
  }

  /** Forgets a process that has ended. */
  async forget(): Promise<void> {
    await this.#remote?.detach({ forget: true });
  }

  /** Stops showing it. The process goes on. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#parsed?.();
    await this.#remote?.detach().catch(() => {
      // Without a connection there is nothing to detach.
    });
  }

  async #attach(): Promise<RemoteProcess> {
    const { name, owner } = this.#options;
    const options = owner === undefined ? {} : { owner };
    try {
      return await this.#host.attachKept(name, { ...options, mode: this.#mode });
    } catch (error) {
      if (!(this.#mode === "control" && error instanceof ExecError && error.code === "PERMISSION_DENIED"))
        throw error;
      this.#mode = "follow";
      return await this.#host.attachKept(name, options);
    }
  }

  async #follow(remote: RemoteProcess): Promise<void> {
    const events = remote.events({ signal: this.#stop.signal });
    try {
      const room = this.#room;
      if (this.#mode === "control" && !remote.isClosed) await this.#sendSize(room);
      const late = await this.#paintFirst(remote, events);
      this.#become({ kind: "open", mode: this.#mode });
      // What was measured meanwhile.
      const measured = this.#room;
      this.#room = room;
      this.fit(measured);
      if (this.#early !== "") this.input(this.#early);
      this.#early = "";
      for (const event of late) await this.#show(event);
      for await (const event of events) await this.#show(event);
    } finally {
      await events.return?.();
    }
  }

  /** Fills what is above the screen, paints the screen, and returns what is not output. */
  async #paintFirst(
    remote: RemoteProcess,
    events: AsyncIterableIterator<ProcessEvent>,
  ): Promise<readonly ProcessEvent[]> {
    const { screen } = await remote.snapshot({ maxBytes: 0, paint: true });
    if (screen?.paint === undefined || screen.nextSeq === undefined) return [];
    const history = new History();
    const rest: ProcessEvent[] = [];
    for (let seq = 0; seq < screen.nextSeq - 1; ) {
      const next = await events.next();
      if (next.done === true) break;
      const event = next.value;
      if (event.kind === "failed") throw new ExecError(event.code, event.message);
      if (event.kind === "gap" || (seq === 0 && event.seq > 1)) history.cut();
      if (event.kind === "output") history.add(event.bytes);
      else if (event.kind !== "gap") rest.push(event);
      seq = event.seq;
    }
    this.#nextSeq = screen.nextSeq;
    this.#setGrid(screen);
    const isAlternate = ENTERS_ALTERNATE.test(new TextDecoder("latin1").decode(screen.paint));
    const { above } = this.#options;
    const before = above === undefined ? "" : clearAfter(this.#surface.rows, above);
    await this.#repeat([before, history.take({ isAlternate }), CLEAR, screen.paint]);
    return rest;
  }

  async #show(event: ProcessEvent): Promise<void> {
    if (event.kind === "failed") throw new ExecError(event.code, event.message);
    if (event.kind === "gap") await this.#paint(clearAfter(this.#surface.rows, MISSING_OUTPUT));
    else if (event.kind === "exited") {
      const { kind: _kind, seq: _seq, ...report } = event;
      this.#become({ kind: "ended", mode: this.#mode, report });
    } else if (event.kind === "output") {
      await this.#repainted;
      if (event.seq >= this.#nextSeq) await this.#write(event.bytes);
    }
  }

  /** Paints the screen again from the server's copy. */
  async #paint(clear: string): Promise<void> {
    const { screen } = await this.#remote!.snapshot({ maxBytes: 0, paint: true });
    if (screen?.paint === undefined || screen.nextSeq === undefined || this.#stop.signal.aborted) return;
    this.#nextSeq = screen.nextSeq;
    this.#setGrid(screen);
    await this.#repeat([clear, screen.paint]);
  }

  #setGrid(screen: { readonly size?: GridSize | undefined }): void {
    const { size } = screen;
    if (size !== undefined && !isSameSize(size, this.#surface)) this.#surface.resize(size.cols, size.rows);
  }

  async #resize(size: GridSize): Promise<void> {
    if (!isSameSize(size, this.#surface)) this.#surface.resize(size.cols, size.rows);
    await this.#sendSize(size);
  }

  async #sendSize(size: GridSize): Promise<void> {
    this.#sizedMs = performance.now();
    await this.#remote!.resize({ cols: size.cols, rows: size.rows });
    this.#sizedMs = performance.now();
  }

  async #repeat(pieces: readonly (string | Uint8Array)[]): Promise<void> {
    this.#repeating += 1;
    for (const piece of pieces) await this.#write(piece);
    this.#surface.write("", () => {
      this.#repeating -= 1;
    });
  }

  /** Resolves when there is room for more. */
  async #write(data: string | Uint8Array): Promise<void> {
    if (data.length === 0) return;
    this.#unparsed += data.length;
    this.#surface.write(data, () => {
      this.#unparsed -= data.length;
      if (this.#unparsed <= ENOUGH_PARSED) this.#parsed?.();
    });
    if (this.#unparsed < MOST_UNPARSED) return;
    await new Promise<void>((resolve) => {
      this.#parsed = resolve;
    });
    this.#parsed = undefined;
  }

  /** With several people on one terminal, one answers what a program asks, or it would get as many answers. */
  #answers(): boolean {
    return this.others === 0 || performance.now() - this.#typedMs < ANSWERS_MS;
  }

  #become(state: TerminalState): void {
    this.#state = state;
    this.#options.onState(state);
  }
}

/** Ends the process of a terminal, and waits for its end. */
export async function endTerminal(remote: RemoteProcess): Promise<void> {
  // As when a window is closed: shells ignore SIGTERM.
  await remote.signal("SIGHUP").catch(() => {
    // It has ended, or the server knows only Ctrl-C.
  });
  await remote.terminate();
  await remote.closed;
}

/** Part of what paints an alternate screen. */
// oxlint-disable-next-line no-control-regex
const ENTERS_ALTERNATE = /\x1b\[\?1049h/;

function isSameSize(one: GridSize, other: GridSize): boolean {
  return one.cols === other.cols && one.rows === other.rows;
}

function stateOf(error: unknown): TerminalState {
  if (error instanceof ExecError && error.code === "NOT_FOUND") return { kind: "missing" };
  const isLost = error instanceof ExecError && ["CONNECTION_CLOSED", "SESSION_LOST"].includes(error.code);
  return isLost ? { kind: "lost" } : { kind: "failed", error };
}
