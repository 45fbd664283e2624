import { effect, signal } from "@preact/signals";
import type { Host } from "../../client/browser.ts";
import { serverLink } from "../connection/server-link.ts";
import { theme } from "../frame/theme.ts";
import { copyText } from "../ui/copy-text.ts";
import { toast } from "../ui/toast.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { Emulator } from "./emulator.ts";
import { findTerminal, keptTerminals } from "./kept-terminals.ts";
import { type PaneLayout, terminalKey } from "./layout.ts";
import { pasted } from "./paste.ts";
import { confirmPaste } from "./paste-question.tsx";
import { fontSize, screenReader } from "./settings.ts";
import { terminalColours } from "./terminal-colours.ts";
import { type GridSize, TerminalSession, type TerminalState } from "./terminal-session.ts";

const FIT_AFTER_MS = 60;
const BELL_MS = 200;
const MAX_TITLE_CHARACTERS = 80;
/** Larger pastes show how far they are. */
const SHOWN_PASTE = 256 * 1024;
const PASTE_PIECE = 32 * 1024;
const RESTARTED = "… output above is from the terminal before; this one replaced it …";
const DEFAULT_SIZE: GridSize = { cols: 80, rows: 24 };

/** A pane that is shown again takes its screen at once. */
const KEPT_MS = 30_000;

const screens = new Map<
  string,
  { readonly emulator: Emulator; readonly timer: ReturnType<typeof setTimeout> }
>();

/** Panes that are shown, for commands. */
export const paneModels = signal<ReadonlyMap<string, PaneModel>>(new Map());

export interface PasteProgress {
  readonly sent: number;
  readonly total: number;
  readonly stop: () => void;
}

/** One terminal in the page: the emulator, the session with the server, and what is shown around them. */
export class PaneModel {
  readonly state = signal<TerminalState>({ kind: "opening" });
  /** Title set by the program. It is shown only in the pane and its tab. */
  readonly title = signal("");
  readonly grid = signal<GridSize>(DEFAULT_SIZE);
  readonly isForeignSize = signal(false);
  /** Target of the link under the mouse. */
  readonly hovered = signal<string | undefined>(undefined);
  readonly isRinging = signal(false);
  readonly isSearching = signal(false);
  readonly pasting = signal<PasteProgress | undefined>(undefined);
  /** Ctrl of the row of keys: holds for the next key. */
  readonly isControlHeld = signal(false);
  readonly emulator: Emulator;
  readonly #host: Host;
  readonly #pane: PaneLayout;
  readonly #session: TerminalSession;
  readonly #undo: (() => void)[];
  #leavesScreen = false;
  #repainting: Promise<void> | undefined;
  #fitTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(host: Host, pane: PaneLayout, element: HTMLElement) {
    this.#host = host;
    this.#pane = pane;
    const left = takeScreen(terminalKey(pane));
    left?.move(element);
    this.emulator = left ?? new Emulator(element);
    this.emulator.onHover = (address) => {
      this.hovered.value = address && visibleText(address);
    };
    this.emulator.onFault = () => void this.#repaint();
    const { terminal } = this.emulator;
    const room = this.emulator.measureRoom() ?? DEFAULT_SIZE;
    terminal.options.disableStdin = false;
    terminal.resize(room.cols, room.rows);
    this.grid.value = room;
    this.#session = new TerminalSession(host, this.emulator, {
      ...pane,
      room,
      ...(left === undefined || left.isAside ? {} : { above: RESTARTED }),
      onState: (state) => {
        this.state.value = state;
        terminal.options.disableStdin = !(state.kind === "open" && state.mode === "control");
      },
    });
    this.emulator.isAside = false;
    const observer = new ResizeObserver(() => this.#fitSoon());
    // The element itself gets scroll bars, which must not trigger another measurement.
    observer.observe(element.parentElement!);
    this.#undo = [
      () => observer.disconnect(),
      ...this.#listen(),
      effect(() => this.#listedAs()),
      effect(() => this.#applyAppearance()),
    ];
    paneModels.value = new Map(paneModels.value).set(terminalKey(pane), this);
    void this.#session.run();
  }

  /** Whether the user is only watching. */
  get isReadOnly(): boolean {
    const state = this.state.value;
    return "mode" in state && state.mode === "follow";
  }

  focus(): void {
    this.emulator.terminal.focus();
  }

  async copy(): Promise<void> {
    const text = this.emulator.terminal.getSelection();
    if (text !== "") await copyText(text);
  }

  /** Pastes a text, after a question if it could do harm. */
  async paste(text: string): Promise<void> {
    if (text === "" || this.state.value.kind !== "open") return;
    const bracketed = this.emulator.terminal.modes.bracketedPasteMode;
    const isWanted = await confirmPaste(text, { bracketed });
    this.focus();
    if (isWanted) await this.#send(new TextEncoder().encode(pasted(text, { bracketed })));
  }

  /** Sends keys as if they were typed. */
  press(keys: string): void {
    this.emulator.terminal.input(keys, true);
    this.focus();
  }

  /** Ends the process, and forgets it. */
  async endAndForget(): Promise<void> {
    await this.#session.end();
    await this.#session.forget();
  }

  async forget(): Promise<void> {
    await this.#session.forget();
  }

  /** Keeps the screen above the terminal that is started in its place. */
  leaveScreen(): void {
    this.#leavesScreen = true;
    // Immediately: an old prompt looks as if it accepted input.
    this.emulator.putAside(RESTARTED);
  }

  dispose(): void {
    for (const step of this.#undo) step();
    clearTimeout(this.#fitTimer);
    const left = new Map(paneModels.value);
    if (left.get(terminalKey(this.#pane)) === this) left.delete(terminalKey(this.#pane));
    paneModels.value = left;
    void this.#session.close();
    // In a new session, the output of the previous one is nowhere else.
    if (this.#leavesScreen || serverLink.host.value !== this.#host)
      leaveScreen(terminalKey(this.#pane), this.emulator);
    else this.emulator.dispose();
  }

  #listen(): (() => void)[] {
    const { terminal } = this.emulator;
    let bell: ReturnType<typeof setTimeout> | undefined;
    const listeners = [
      terminal.onData((data) => this.#session.input(this.#withControl(data))),
      terminal.onBinary(
        (data) => void this.#session.send(Uint8Array.from(data, (one) => one.charCodeAt(0))).catch(() => {}),
      ),
      terminal.onTitleChange((title) => {
        this.title.value = visibleText(title).slice(0, MAX_TITLE_CHARACTERS);
      }),
      terminal.onResize(({ cols, rows }) => {
        this.grid.value = { cols, rows };
        this.#fitSoon();
      }),
      terminal.onRender(() => this.emulator.showCursor()),
      terminal.onBell(() => {
        this.isRinging.value = true;
        clearTimeout(bell);
        bell = setTimeout(() => {
          this.isRinging.value = false;
        }, BELL_MS);
      }),
    ];
    return listeners.map((listener) => () => listener.dispose());
  }

  #withControl(data: string): string {
    if (!this.isControlHeld.value || data.length !== 1) return data;
    this.isControlHeld.value = false;
    const code = data.toUpperCase().charCodeAt(0);
    return code >= 0x40 && code < 0x60 ? String.fromCharCode(code & 0x1f) : data;
  }

  /** Follows the list: number of attached clients, and whose size applies. */
  #listedAs(): void {
    const list = keptTerminals.value;
    const listed = findTerminal(this.#pane);
    if (list === undefined || listed === undefined) return;
    this.#session.others = Math.max(0, (listed.attached ?? 1) - 1);
    const { terminalSize: size } = listed;
    if (size !== undefined)
      void this.#session.sizeIs(size, list.askedMs).catch(() => {
        // The connection is lost; the next list says it again.
      });
  }

  /** Repaints once for all faults until it is done. */
  #repaint(): Promise<void> {
    this.#repainting ??= this.#session
      .repaint()
      .catch(() => {
        // The connection is lost; the screen is painted again with the next one.
      })
      .finally(() => {
        this.#repainting = undefined;
      });
    return this.#repainting;
  }

  #applyAppearance(): void {
    const { options } = this.emulator.terminal;
    // Read, so that this runs again: the size is set when the room is measured.
    void fontSize.value;
    options.screenReaderMode = screenReader.value;
    // Read, so that this runs again; the colours are there when the page has the theme.
    void theme.value;
    const isSearching = this.isSearching.value;
    queueMicrotask(() => {
      const { match: _match, currentMatch, ...colours } = terminalColours();
      // The latest search match is selected.
      const selected = { selectionBackground: currentMatch, selectionInactiveBackground: currentMatch };
      options.theme = isSearching ? { ...colours, ...selected } : colours;
    });
    this.#fitSoon();
  }

  #fitSoon(): void {
    clearTimeout(this.#fitTimer);
    this.#fitTimer = setTimeout(() => {
      const room = this.emulator.measureRoom();
      if (room === undefined) return;
      this.#session.fit(room);
      this.isForeignSize.value = this.#session.isForeignSize;
      if (this.isForeignSize.value) this.emulator.showAll();
    }, FIT_AFTER_MS);
  }

  async #send(bytes: Uint8Array): Promise<void> {
    const abort = new AbortController();
    const isLong = bytes.length > SHOWN_PASTE;
    try {
      for (let sent = 0; sent < bytes.length; sent += PASTE_PIECE) {
        if (isLong) this.pasting.value = { sent, total: bytes.length, stop: () => abort.abort() };
        await this.#session.send(bytes.subarray(sent, sent + PASTE_PIECE), { signal: abort.signal });
      }
    } catch (error) {
      if (!abort.signal.aborted)
        toast({
          kind: "bad",
          text: `The paste stopped: ${error instanceof Error ? error.message : String(error)}`,
        });
    } finally {
      this.pasting.value = undefined;
    }
  }
}

/** Keeps the screen of a pane for the pane that replaces it. */
function leaveScreen(key: string, emulator: Emulator): void {
  takeScreen(key)?.dispose();
  const timer = setTimeout(() => takeScreen(key)?.dispose(), KEPT_MS);
  screens.set(key, { emulator, timer });
}

/** The screen that was kept for this pane, if there is one. */
function takeScreen(key: string): Emulator | undefined {
  const left = screens.get(key);
  if (left === undefined) return undefined;
  clearTimeout(left.timer);
  screens.delete(key);
  return left.emulator;
}
