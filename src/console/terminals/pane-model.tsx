import { effect, signal } from "@preact/signals";
import type { Host } from "../../client/browser.ts";
import { serverLink } from "../connection/server-link.ts";
import { theme } from "../frame/theme.ts";
import { confirm } from "../ui/confirm.tsx";
import { copyText } from "../ui/copy-text.ts";
import { toast } from "../ui/toast.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { Emulator } from "./emulator.ts";
import { findTerminal, keptTerminals } from "./kept-terminals.ts";
import { type PaneLayout, terminalKey } from "./layout.ts";
import { leaveScreen, takeScreen } from "./left-screens.ts";
import { contentsOf, mustAsk, pasted } from "./paste.ts";
import { PasteQuestion } from "./paste-question.tsx";
import { fontSize, screenReader } from "./settings.ts";
import { terminalColours } from "./terminal-colours.ts";
import { type GridSize, TerminalSession, type TerminalState } from "./terminal-session.ts";

const FIT_AFTER_MS = 60;
const BELL_MS = 200;
const MOST_TITLE = 80;
/** Larger pastes show how far they are. */
const SHOWN_PASTE = 256 * 1024;
const PASTE_PIECE = 32 * 1024;
const RESTARTED = "… what is above is from before; this was started in its place …";
const DEFAULT_SIZE: GridSize = { cols: 80, rows: 24 };

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
  /** What the program calls itself. It is shown in the pane and its tab, and nowhere else. */
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
    // Not the element itself: it has bars when it scrolls, which must not make it measure again.
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

  focus(): void {
    this.emulator.terminal.focus();
  }

  get hasSelection(): boolean {
    return this.emulator.terminal.hasSelection();
  }

  async copy(): Promise<void> {
    const text = this.emulator.terminal.getSelection();
    if (text !== "") await copyText(text);
  }

  /** Pastes a text, after a question if it could do harm. */
  async paste(text: string): Promise<void> {
    if (text === "" || this.state.value.kind !== "open") return;
    const contents = contentsOf(text);
    const bracketed = this.emulator.terminal.modes.bracketedPasteMode;
    if (mustAsk(contents, { bracketed })) {
      const yes = await confirm({
        title: contents.lines > 1 ? `Paste ${contents.lines} lines?` : "Paste this?",
        text: <PasteQuestion text={text} contents={contents} bracketed={bracketed} />,
        action: "Paste",
      });
      this.focus();
      if (!yes) return;
    }
    await this.#send(new TextEncoder().encode(pasted(text, { bracketed })));
  }

  /** Sends keys, as if they were typed. */
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

  /** What is on the screen stays, above what is started in this place. */
  leaveScreen(): void {
    this.#leavesScreen = true;
    // At once: an old prompt looks as if one could type.
    this.emulator.putAside(RESTARTED);
  }

  dispose(): void {
    for (const step of this.#undo) step();
    clearTimeout(this.#fitTimer);
    const left = new Map(paneModels.value);
    if (left.get(terminalKey(this.#pane)) === this) left.delete(terminalKey(this.#pane));
    paneModels.value = left;
    void this.#session.close();
    // With another session, what the last one showed is nowhere else.
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
        this.title.value = visibleText(title).slice(0, MOST_TITLE);
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

  /** Follows the list: how many are attached, and whose size counts. */
  #listedAs(): void {
    const list = keptTerminals.value;
    const listed = list && findTerminal(list, this.#pane);
    if (list === undefined || listed === undefined) return;
    this.#session.others = Math.max(0, (listed.attached ?? 1) - 1);
    const { terminalSize: size } = listed;
    if (size !== undefined)
      void this.#session.sizeIs(size, list.askedMs).catch(() => {
        // The connection is lost; the next list says it again.
      });
  }

  /** Once for all faults that come before it is done. */
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
    queueMicrotask(() => {
      options.theme = terminalColours();
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
