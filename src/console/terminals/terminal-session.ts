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

/** Address of a kept process. */
export interface TerminalAddress {
  readonly name: string;
  /** Default: this principal, or the only other one that has a process of that name. */
  readonly owner?: string | undefined;
}

/** The display of the screen: an emulator such as xterm.js. */
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
  /** Moves the surface's current contents above the screen, with this line below them. */
  readonly above?: string;
  readonly onState: (state: TerminalState) => void;
}

/** Written to the emulator, but not parsed: at most this much, and less before more is written. */
const MAX_UNPARSED_BYTES = 256 * 1024;
const ENOUGH_PARSED = 64 * 1024;
/** Input in transit. More is refused, or a page without a connection would collect it forever. */
const MAX_UNSENT_BYTES = 64 * 1024 * 1024;
/** With more input in transit, a program that does not read the answers gets none. */
const MAX_UNSENT_REPLY_BYTES = 4 * 1024;
/** Typed before the terminal is open: at most this many characters. */
const MAX_EARLY_BYTES = 64 * 1024;
/** The terminal of the user who typed last answers a program's questions. */
const ANSWERS_MS = 10_000;
const MISSING_OUTPUT = "… some output is missing here: there was more than could be shown …";

/**
 * One kept terminal, shown on an emulator. The screen comes from the server's copy, the scrollback from the output that
 * the server still has, and the rest from the events that follow. The library replaces a lost connection; after a gap
 * the screen is repainted.
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
  /** Number of attached connections, as far as known. */
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

  /** Whether the window has someone else's size. */
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

  /** Sends what the user typed, or what the emulator replies to a program. */
  input(data: string): void {
    const reply = isReply(data);
    if (reply && (this.#repeating > 0 || this.#unsent > MAX_UNSENT_REPLY_BYTES || !this.#answers())) return;
    if (!reply) this.#typedMs = performance.now();
    if (!reply && this.#state.kind === "opening") {
      if (this.#early.length + data.length <= MAX_EARLY_BYTES) this.#early += data;
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
    if (this.#unsent + bytes.length > MAX_UNSENT_BYTES)
      throw new ExecError("LIMIT_REACHED", "too much input is waiting to be sent to the terminal");
    this.#unsent += bytes.length;
    try {
      await remote.write(bytes, options);
    } finally {
      this.#unsent -= bytes.length;
    }
    // The user who typed last decides the size.
    if (this.isForeignSize) await this.#resize(this.#room);
  }

  /** The available space has changed. */
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

  /** The window's size according to a list requested at `askedMs`. */
  async sizeIs(size: GridSize, askedMs: number): Promise<void> {
    const grid = boundedGrid(size);
    if (this.#state.kind !== "open" || askedMs < this.#sizedMs || isSameSize(grid, this.#surface)) return;
    this.#surface.resize(grid.cols, grid.rows);
    await this.repaint();
  }

  /** Replaces the shown contents with what the server has. */
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

  /** Stops showing it. The process keeps running. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#parsed?.();
    await this.#remote?.detach().catch(() => {
      // Without a connection, nothing is attached.
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
    const events = remote.events({ signal: this.#stop.signal, skipMissed: true });
    try {
      const room = this.#room;
      if (this.#mode === "control" && !remote.isClosed) await this.#sendSize(room);
      const late = await this.#paintFirst(remote, events);
      this.#become({ kind: "open", mode: this.#mode });
      // The size measured in the meantime.
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

  /** Fills the scrollback, paints the screen, and returns events that are not output. */
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
    this.#setGrid(screen.size);
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
    this.#setGrid(screen.size);
    await this.#repeat([clear, screen.paint]);
  }

  #setGrid(size: GridSize | undefined): void {
    if (size !== undefined && !isSameSize(size, this.#surface)) this.#surface.resize(size.cols, size.rows);
  }

  async #resize(size: GridSize): Promise<void> {
    this.#setGrid(size);
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
    if (this.#unparsed < MAX_UNPARSED_BYTES) return;
    await new Promise<void>((resolve) => {
      this.#parsed = resolve;
    });
    this.#parsed = undefined;
  }

  /** With several users on one terminal, only one replies to a program, which would otherwise get several replies. */
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
  // Like closing a window: shells ignore SIGTERM.
  await remote.signal("SIGHUP").catch(() => {
    // It has ended, or the server supports only Ctrl-C.
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
