import { FitAddon } from "@xterm/addon-fit";
import { SearchAddon } from "@xterm/addon-search";
import { Unicode11Addon } from "@xterm/addon-unicode11";
import { WebLinksAddon } from "@xterm/addon-web-links";
import { Terminal } from "@xterm/xterm";
import { openLink } from "./links.ts";
import { fontSize, screenReader } from "./settings.ts";
import { terminalColours } from "./terminal-colours.ts";
import type { GridSize } from "./terminal-session.ts";

const SCROLLBACK = 10_000;
/** Below that, colours of programs are changed until they can be read. */
const CONTRAST = 4.5;
const LEAST: GridSize = { cols: 2, rows: 1 };

/** xterm.js with what the page wants of it. */
export class Emulator {
  readonly terminal: Terminal;
  readonly search = new SearchAddon({ highlightLimit: 2000 });
  readonly #fit = new FitAddon();

  /** `onHover` gets the target of the link under the mouse. */
  constructor(
    element: HTMLElement,
    { onHover }: { readonly onHover: (address: string | undefined) => void },
  ) {
    const links = {
      hover: (_event: MouseEvent, text: string) => onHover(text),
      leave: () => onHover(undefined),
    };
    this.terminal = new Terminal({
      allowProposedApi: true,
      cursorBlink: false,
      cursorInactiveStyle: "outline",
      fontFamily: getComputedStyle(element).getPropertyValue("--font-code"),
      fontSize: fontSize.value,
      lineHeight: 1.15,
      minimumContrastRatio: CONTRAST,
      screenReaderMode: screenReader.value,
      scrollback: SCROLLBACK,
      theme: terminalColours(),
      // Links that a program has written. What they show can be anything, so the real target is shown under the mouse.
      linkHandler: { ...links, activate: (_event, text) => openLink(text), allowNonHttpProtocols: false },
    });
    const webLinks = new WebLinksAddon((_event, text) => openLink(text), links);
    for (const addon of [this.#fit, this.search, new Unicode11Addon(), webLinks])
      this.terminal.loadAddon(addon);
    this.terminal.unicode.activeVersion = "11";
    // Programs must not reach the clipboard.
    this.terminal.parser.registerOscHandler(52, () => true);
    this.terminal.open(element);
  }

  /** The size that the element has room for; undefined while it is not shown. */
  get room(): GridSize | undefined {
    const size = this.#fit.proposeDimensions();
    if (size === undefined || !Number.isFinite(size.cols) || !Number.isFinite(size.rows)) return undefined;
    return { cols: Math.max(LEAST.cols, size.cols), rows: Math.max(LEAST.rows, size.rows) };
  }

  dispose(): void {
    this.terminal.dispose();
  }
}
