import { FitAddon } from "@xterm/addon-fit";
import type { SearchAddon } from "@xterm/addon-search";
import { Unicode11Addon } from "@xterm/addon-unicode11";
import { WebLinksAddon } from "@xterm/addon-web-links";
import { Terminal } from "@xterm/xterm";
import { boundedGrid, boundEmulator } from "../../base/emulator-bounds.ts";
import { keepInverseReadable } from "./inverse-text.ts";
import { openLink } from "./links.ts";
import { clearAfter } from "./sequences.ts";
import { fontSize, screenReader } from "./settings.ts";
import { SlicedWrites } from "./sliced-writes.ts";
import { terminalColours } from "./terminal-colours.ts";
import type { GridSize, TerminalSurface } from "./terminal-session.ts";

const SCROLLBACK = 10_000;
/** Below that, colours of programs are changed until they can be read. */
const CONTRAST = 4.5;
const LEAST: GridSize = { cols: 2, rows: 1 };
/** Smaller text is hard to read. */
const MIN_FONT_PX = 9;
const FONT_STEP_PX = 0.5;
/** Titles, colours and links of programs: longer ones are ignored, because xterm.js takes minutes for some. */
const STRINGS = [0, 1, 2, 4, 8, 10, 11, 12, 104, 110, 111, 112];
const MAX_STRING = 4096;
/** Places of links and of search results. Each line that scrolls visits all of them. */
const MAX_MARKERS = 2500;

/** Part of xterm.js that its interface does not show. The version is pinned; check it at every update. */
interface Core {
  readonly _inputHandler: {
    parse(data: string | Uint8Array, result?: boolean): undefined | Promise<boolean>;
  };
}

/** xterm.js with what the page wants of it. */
export class Emulator implements TerminalSurface {
  readonly terminal: Terminal;
  /** The screen may be wrong: the emulator has failed on some output, which was left out. */
  onFault: () => void = () => {};
  /** Gets the target of the link under the mouse. */
  onHover: (address: string | undefined) => void = () => {};
  /** Whether the previous screen has already been moved above this one. */
  isAside = false;
  readonly #fit = new FitAddon();
  #element: HTMLElement;
  #finder: Promise<SearchAddon> | undefined;
  #isClipped = false;
  /** Position of the cursor when the page last scrolled to it. */
  #shownCursor = "";
  readonly #writes: SlicedWrites;

  constructor(element: HTMLElement) {
    this.#element = element;
    const links = {
      hover: (_event: MouseEvent, text: string) => this.onHover(text),
      leave: () => this.onHover(undefined),
    };
    this.terminal = new Terminal({
      allowProposedApi: true,
      cursorBlink: false,
      cursorInactiveStyle: "outline",
      fontFamily: getComputedStyle(element).getPropertyValue("--font-code"),
      fontSize: fontSize.value,
      lineHeight: 1.15,
      // It would log faults of programs to the browser's console.
      logLevel: "off",
      minimumContrastRatio: CONTRAST,
      screenReaderMode: screenReader.value,
      scrollback: SCROLLBACK,
      theme: terminalColours(),
      // Links that a program has written. Their text can be anything, so the real target is shown on hover.
      linkHandler: { ...links, activate: (_event, text) => openLink(text), allowNonHttpProtocols: false },
    });
    const webLinks = new WebLinksAddon((_event, text) => openLink(text), links);
    for (const addon of [this.#fit, new Unicode11Addon(), webLinks]) this.terminal.loadAddon(addon);
    this.terminal.unicode.activeVersion = "11";
    boundEmulator(this.terminal);
    this.#writes = new SlicedWrites(this.terminal, () => this.#forgetOldMarkers());
    for (const code of STRINGS)
      this.terminal.parser.registerOscHandler(code, (text) => text.length > MAX_STRING);
    // Programs must not reach the clipboard.
    this.terminal.parser.registerOscHandler(52, () => true);
    this.#surviveFaults();
    this.terminal.open(element);
    keepInverseReadable(this.terminal);
  }

  get cols(): number {
    return this.terminal.cols;
  }

  get rows(): number {
    return this.terminal.rows;
  }

  resize(cols: number, rows: number): void {
    const grid = boundedGrid({ cols, rows });
    this.terminal.resize(grid.cols, grid.rows);
  }

  /** Shows output. `parsed` is called when the screen has all of it. */
  write(data: string | Uint8Array, parsed?: () => void): void {
    this.#writes.write(data, parsed);
  }

  #forgetOldMarkers(): void {
    const { markers } = this.terminal;
    for (let excess = markers.length - MAX_MARKERS; excess > 0; excess -= 1) markers[0]?.dispose();
  }

  /** An error while it parses would stop it forever: it keeps the piece that it failed on, and waits for its end. */
  #surviveFaults(): void {
    const { _inputHandler: input } = (this.terminal as unknown as { _core: Core })._core;
    const parse = input.parse.bind(input);
    input.parse = (data, result) => {
      try {
        return parse(data, result);
      } catch {
        this.onFault();
        return undefined;
      }
    };
  }

  /** The search addon, loaded on demand. */
  finder(): Promise<SearchAddon> {
    this.#finder ??= this.#loadFinder();
    return this.#finder;
  }

  async #loadFinder(): Promise<SearchAddon> {
    try {
      const { SearchAddon } = await import("@xterm/addon-search");
      const addon = new SearchAddon({ highlightLimit: 2000 });
      this.terminal.loadAddon(addon);
      return addon;
    } catch (error) {
      this.#finder = undefined;
      throw error;
    }
  }

  /** Moves what the screen shows out of sight, above it, followed by a line of explanation. */
  putAside(notice: string): void {
    this.isAside = true;
    this.write(clearAfter(this.terminal.rows, notice));
  }

  /** Moves the terminal to another element, with everything on its screen. */
  move(element: HTMLElement): void {
    this.#element = element;
    element.append(this.terminal.element!);
  }

  /** The size that the element has room for in text of the usual size; undefined while it is not shown. */
  measureRoom(): GridSize | undefined {
    this.terminal.options.fontSize = fontSize.value;
    this.#clip(false);
    const size = this.#fit.proposeDimensions();
    if (size === undefined || !Number.isFinite(size.cols) || !Number.isFinite(size.rows)) return undefined;
    return boundedGrid({
      cols: Math.max(LEAST.cols, size.cols),
      rows: Math.max(LEAST.rows, size.rows),
    });
  }

  /** Makes the text smaller until all of the screen can be seen, unless that would be too small to be read. */
  showAll(): void {
    const { options, cols, rows } = this.terminal;
    const fits = (): boolean => {
      const room = this.#fit.proposeDimensions();
      return room === undefined || (room.cols >= cols && room.rows >= rows);
    };
    const usual = fontSize.value;
    for (let size = usual; size >= Math.min(usual, MIN_FONT_PX); size -= FONT_STEP_PX) {
      options.fontSize = size;
      if (fits()) return;
    }
    options.fontSize = usual;
    this.#clip(true);
  }

  /** Scrolls a screen that is larger than its element to the cursor, if the cursor has moved. */
  showCursor(): void {
    const { cursorX, cursorY, baseY, viewportY } = this.terminal.buffer.active;
    const cursor = `${cursorX} ${cursorY} ${baseY} ${this.#element.clientWidth} ${this.#element.clientHeight}`;
    const screen = this.#element.querySelector(".xterm-screen");
    if (!this.#isClipped || cursor === this.#shownCursor || viewportY !== baseY || screen === null) return;
    this.#shownCursor = cursor;
    const { rows, cols } = this.terminal;
    const whole = screen.getBoundingClientRect();
    const room = this.#element.getBoundingClientRect();
    const height = whole.height / rows;
    const width = whole.width / cols;
    this.#element.scrollBy({
      top: beyond(whole.top + cursorY * height - room.top, height, this.#element.clientHeight),
      left: beyond(whole.left + cursorX * width - room.left, width, this.#element.clientWidth),
    });
  }

  /** Sets whether only a part of the screen can be seen, which then scrolls. */
  #clip(isClipped: boolean): void {
    this.#isClipped = isClipped;
    this.#element.toggleAttribute("data-clipped", isClipped);
    this.#shownCursor = "";
    if (isClipped) this.showCursor();
    else this.#element.scrollTo(0, 0);
  }

  dispose(): void {
    this.terminal.dispose();
  }
}

/** Distance of a box at an offset from the visible area, with a margin of one box. */
function beyond(offset: number, size: number, room: number): number {
  if (offset < size) return offset - size;
  return Math.max(0, offset + 2 * size - room);
}
