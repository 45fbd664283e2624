import type { Terminal } from "@xterm/xterm";

/** A colour of xterm.js. */
type Colour = object;

interface Cell {
  isInverse(): number;
  isBgDefault(): boolean;
}

interface RowFactory {
  _applyMinimumContrast(
    element: HTMLElement,
    background: Colour,
    foreground: Colour,
    cell: Cell,
    backgroundOverride: Colour | undefined,
    foregroundOverride: Colour | undefined,
  ): boolean;
}

/** Parts of xterm.js that its interface does not show. The version is pinned; check them at every update. */
interface Core {
  readonly _renderService: { readonly _renderer: { readonly value: { readonly _rowFactory: RowFactory } } };
  readonly _themeService: { readonly colors: { readonly background: Colour } };
}

/**
 * Keeps reverse video readable. For reversed text on the default background, xterm.js compares the contrast of the
 * default text colour with itself, and then draws the text in something between that and the page.
 */
export function keepInverseReadable(terminal: Terminal): void {
  const { _renderService, _themeService } = (terminal as unknown as { _core: Core })._core;
  const { _rowFactory: rows } = _renderService._renderer.value;
  const apply = rows._applyMinimumContrast.bind(rows);
  rows._applyMinimumContrast = (element, background, foreground, cell, ...overrides) => {
    const isPageColoured = cell.isInverse() !== 0 && cell.isBgDefault();
    const actual = isPageColoured ? _themeService.colors.background : foreground;
    return apply(element, background, actual, cell, ...overrides);
  };
}
