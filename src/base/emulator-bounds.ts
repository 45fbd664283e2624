/** Rows and columns. */
interface Grid {
  readonly cols: number;
  readonly rows: number;
}

interface Cell {
  getWidth(): number;
  getChars(): string;
}

/** Widths of characters, and which ones share a cell: bits 1 and 2 hold the width, bit 0 the sharing. */
interface CharacterWidths {
  readonly version: string;
  wcwidth(codepoint: number): 0 | 1 | 2;
  charProperties(codepoint: number, preceding: number): number;
}

/** xterm.js, with or without a page. */
interface Xterm extends Grid {
  readonly modes: { readonly insertMode: boolean };
  readonly buffer: {
    readonly active: {
      readonly baseY: number;
      readonly cursorX: number;
      readonly cursorY: number;
      getLine(y: number): { getCell(x: number): Cell | undefined } | undefined;
    };
  };
  readonly unicode: { register(widths: CharacterWidths): void; activeVersion: string };
}

interface Sequence {
  readonly prefix?: string;
  readonly final: string;
}

/**
 * Parts of xterm.js that its interface does not show. The version is pinned; check them at every update. The handler
 * gets the parameters themselves, not a copy, and the built-in handler runs after it.
 */
interface Core {
  registerCsiHandler(
    sequence: Sequence,
    handler: (parameters: { readonly params: Int32Array }) => boolean,
  ): unknown;
  readonly unicodeService: { readonly _activeProvider: CharacterWidths };
}

/** Every cell costs memory and time, and a client may ask for any size. */
const MAX_COLUMNS = 1000;
const MAX_ROWS = 300;
/**
 * Bytes times cells that are parsed without looking at the clock. A sequence of a few bytes can change every cell of the
 * screen (DECALN, SL), which takes up to 10 ns per cell and byte.
 */
const MAX_SLICE_WORK = 400_000;
const MAX_SLICE_BYTES = 256;
const MIN_SLICE_BYTES = 4;
/** Cells that one REP may write or move. */
const MAX_REPEAT_WORK = 300_000;
/** Combining characters on one character: what scripts need, and little enough that a painted screen fits a message. */
const MAX_COMBINED = 8;

/** The part of a terminal that an emulator shows. */
export function boundedGrid({ cols, rows }: Grid): Grid {
  return { cols: Math.min(cols, MAX_COLUMNS), rows: Math.min(rows, MAX_ROWS) };
}

/** Maximum number of bytes to parse at once, so that one slice takes a few milliseconds whatever it contains. */
export function sliceBytes({ cols, rows }: Grid): number {
  const bytes = Math.floor(MAX_SLICE_WORK / (cols * rows));
  return Math.max(MIN_SLICE_BYTES, Math.min(MAX_SLICE_BYTES, bytes));
}

/**
 * Limits what one sequence can cost to a few changes of the whole screen. xterm.js repeats some sequences as often as
 * their parameter says, up to 2^31 - 1 times, and puts any number of combining characters into one cell. Beyond the
 * limits a repetition changes nothing that the screen shows.
 */
export function boundEmulator(terminal: Xterm): void {
  const core = (terminal as unknown as { readonly _core: Core })._core;
  const bound = (final: string, most: (count: number) => number): void => {
    core.registerCsiHandler({ final }, ({ params }) => {
      params[0] = Math.min(params[0]!, most(params[0]!));
      return false;
    });
  };
  // IL, DL, SU, SD: at most as many as there are rows.
  for (const final of ["L", "M", "S", "T"]) bound(final, () => terminal.rows);
  // CHT, CBT: at most one tab stop per column.
  for (const final of ["I", "Z"]) bound(final, () => terminal.cols);
  // REP
  bound("b", (count) => repetitions(terminal, count));
  // xterm.js fails if everything up to the last cell is erased. That is the whole screen.
  for (const sequence of [{ final: "J" }, { prefix: "?", final: "J" }])
    core.registerCsiHandler(sequence, ({ params }) => {
      const { cursorX, cursorY } = terminal.buffer.active;
      const isAtEnd = cursorY === terminal.rows - 1 && cursorX >= terminal.cols - 1;
      if (params[0] === 1 && isAtEnd) params[0] = 2;
      return false;
    });
  const widths = boundedWidths(core.unicodeService._activeProvider);
  terminal.unicode.register(widths);
  terminal.unicode.activeVersion = widths.version;
}

/** Number of times to repeat the character before the cursor: enough to fill the screen and end in the same column. */
function repetitions({ cols, rows, modes, buffer }: Xterm, count: number): number {
  const { baseY, cursorX, cursorY } = buffer.active;
  const line = buffer.active.getLine(baseY + cursorY);
  const before = line?.getCell(cursorX - 1);
  // The second half of a wide character has width 0.
  const cell = before?.getWidth() === 0 ? line?.getCell(cursorX - 2) : before;
  const perRow = Math.floor(cols / (cell?.getWidth() || 1));
  const cost = (cell?.getChars().length ?? 1) + (modes.insertMode ? cols : 0);
  const affordable = Math.max(perRow, Math.floor(MAX_REPEAT_WORK / cost));
  const most = Math.min((rows + 2) * perRow, affordable);
  if (count <= most) return count;
  const excess = (count - most) % perRow;
  return excess === 0 ? most : most - perRow + excess;
}

/** Each further combining character takes a cell and is not shown, as after an escape sequence. */
function boundedWidths(widths: CharacterWidths): CharacterWidths {
  return {
    version: `${widths.version}-bounded`,
    wcwidth: (codepoint) => widths.wcwidth(codepoint),
    charProperties: (codepoint, preceding) => {
      const properties = widths.charProperties(codepoint, preceding);
      if ((properties & 1) === 0) return properties;
      const combined = (preceding >> 3) + 1;
      return combined > MAX_COMBINED ? 0 : (combined << 3) | properties;
    },
  };
}
