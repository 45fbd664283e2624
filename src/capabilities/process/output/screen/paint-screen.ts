import { Turns } from "../../../turns.ts";
import type { IBuffer, IBufferCell } from "@xterm/headless";
import type { Charset, Emulator, ScreenMemory, Style } from "./emulator.ts";

const ESC = "\u001b";
const CSI = `${ESC}[`;

/**
 * Escape sequences that make an empty terminal of the same size look and behave like an emulator. Rows are addressed,
 * not scrolled, so that a smaller terminal shows at least the upper left part. The emulator must not change meanwhile.
 */
export async function paintScreen(emulator: Emulator): Promise<Uint8Array> {
  const { terminal, core } = emulator;
  const { active, normal, alternate } = terminal.buffer;
  // Prevents wrapping and flicker while painting.
  const painted = [Buffer.from(`${CSI}?25l${CSI}?7l`), ...(await rowsOf(normal, terminal.rows))];
  if (active.type === "alternate") {
    // The cursor and its colours are saved on the way in, and restored when the program leaves.
    painted.push(Buffer.from(`${savedCursor(core.buffers.normal)}${CSI}?1049h${CSI}m${CSI}2J`));
    painted.push(...(await rowsOf(alternate, terminal.rows)));
  }
  const memory = active.type === "alternate" ? core.buffers.alt : core.buffers.normal;
  let text = `${savedCursor(memory)}${ESC}7`;
  text += charsets(emulator) + modes(emulator) + cursor(emulator, memory);
  if (!core.coreService.isCursorHidden) text += `${CSI}?25h`;
  return Buffer.concat([...painted, Buffer.from(text), emulator.unfinished]);
}

/** Encoded row by row: all of a large screen at once would keep everybody waiting. */
function rowsOf(buffer: IBuffer, rows: number): Promise<Buffer[]> {
  return readRows(rows, (row) => Buffer.from(rowOf(buffer, row)));
}

function rowOf(buffer: IBuffer, row: number): string {
  const line = buffer.getLine(buffer.baseY + row);
  if (line === undefined) return "";
  let text = "";
  /** Ignores trailing blanks. */
  let visible = 0;
  let style: Pick<Style, "fg" | "bg"> = { fg: 0, bg: 0 };
  const scratch = buffer.getNullCell();
  for (let column = 0, before = 0; column < line.length; column += 1) {
    const cell = line.getCell(column, scratch) as (IBufferCell & Style) | undefined;
    if (cell === undefined) continue;
    const width = cell.getWidth();
    const isSecondHalf = width === 0 && before === 2;
    before = width;
    if (isSecondHalf) continue;
    if (cell.fg !== style.fg || cell.bg !== style.bg) {
      text += sgr(cell);
      style = { fg: cell.fg, bg: cell.bg };
    }
    // A combining character without one before it takes a cell, and is not shown.
    const chars = (width > 0 && cell.getChars()) || " ";
    text += chars;
    if (chars !== " " || cell.bg !== 0 || cell.fg !== 0) visible = text.length;
  }
  return visible === 0 ? "" : `${position(row, 0)}${text.slice(0, visible)}${CSI}m`;
}

function position(row: number, column: number): string {
  return `${CSI}${row + 1};${column + 1}H`;
}

function sgr(style: Style): string {
  const codes: (number | string)[] = [0];
  if (style.isBold()) codes.push(1);
  if (style.isDim()) codes.push(2);
  if (style.isItalic()) codes.push(3);
  if (style.isUnderline()) codes.push(4);
  if (style.isBlink()) codes.push(5);
  if (style.isInverse()) codes.push(7);
  if (style.isInvisible()) codes.push(8);
  if (style.isStrikethrough()) codes.push(9);
  if (style.isOverline()) codes.push(53);
  if (style.isFgRGB()) codes.push(`38;2;${channels(style.getFgColor())}`);
  else if (style.isFgPalette()) codes.push(paletteCode(style.getFgColor(), 30));
  if (style.isBgRGB()) codes.push(`48;2;${channels(style.getBgColor())}`);
  else if (style.isBgPalette()) codes.push(paletteCode(style.getBgColor(), 40));
  return `${CSI}${codes.join(";")}m`;
}

function channels(color: number): string {
  return `${(color >> 16) & 255};${(color >> 8) & 255};${color & 255}`;
}

/** `base` is 30 for the text and 40 for the background. */
function paletteCode(color: number, base: number): number | string {
  if (color < 8) return base + color;
  if (color < 16) return base + 60 + color - 8;
  return `${base + 8};5;${color}`;
}

function savedCursor({ savedX, savedY, savedCurAttrData }: ScreenMemory): string {
  return position(savedY, savedX) + sgr(savedCurAttrData);
}

function charsets({ core }: Emulator): string {
  const { glevel, _charsets: sets } = core._charsetService;
  const line = (set: Charset) => set?.["q"] === "─";
  return (
    (line(sets[0]) ? `${ESC}(0` : "") + (line(sets[1]) ? `${ESC})0` : "") + (glevel === 1 ? "\u000e" : "")
  );
}

const MOUSE_TRACKING = { none: "", x10: "?9h", vt200: "?1000h", drag: "?1002h", any: "?1003h" };
const MOUSE_ENCODINGS: Readonly<Record<string, string>> = { SGR: "?1006h", SGR_PIXELS: "?1016h" };
const CURSOR_SHAPES = { block: 1, underline: 3, bar: 5 };

function modes({ terminal, core }: Emulator): string {
  const { modes } = terminal;
  const sequences = [
    modes.applicationCursorKeysMode ? "?1h" : "",
    modes.bracketedPasteMode ? "?2004h" : "",
    modes.insertMode ? "4h" : "",
    modes.reverseWraparoundMode ? "?45h" : "",
    modes.sendFocusMode ? "?1004h" : "",
    modes.wraparoundMode ? "?7h" : "",
    MOUSE_TRACKING[modes.mouseTrackingMode],
    MOUSE_ENCODINGS[core.coreMouseService.activeEncoding] ?? "",
  ];
  const { cursorStyle, cursorBlink } = core.coreService.decPrivateModes;
  if (cursorStyle !== undefined)
    sequences.push(`${CURSOR_SHAPES[cursorStyle] + (cursorBlink === false ? 1 : 0)} q`);
  const keypad = modes.applicationKeypadMode ? `${ESC}=` : "";
  return (
    keypad +
    sequences
      .filter((sequence) => sequence !== "")
      .map((sequence) => CSI + sequence)
      .join("")
  );
}

/** Margins and origin first, because they move the cursor. */
function cursor({ terminal, core }: Emulator, { scrollTop, scrollBottom }: ScreenMemory): string {
  const { active } = terminal.buffer;
  const { originMode } = terminal.modes;
  const hasMargins = scrollTop > 0 || scrollBottom < terminal.rows - 1;
  const margins = hasMargins ? `${CSI}${scrollTop + 1};${scrollBottom + 1}r` : "";
  const origin = originMode ? `${CSI}?6h` : "";
  const row = active.cursorY - (originMode ? scrollTop : 0);
  const current = sgr(core._inputHandler._curAttrData);
  if (active.cursorX < terminal.cols) return margins + origin + position(row, active.cursorX) + current;
  return margins + origin + lastCell(active, row) + current;
}

/** The last character of a row again: the next one will wrap, which no sequence can say. */
function lastCell(buffer: IBuffer, row: number): string {
  const line = buffer.getLine(buffer.baseY + buffer.cursorY);
  const at = (column: number) => line?.getCell(column) as (IBufferCell & Style) | undefined;
  const columns = line?.length ?? 1;
  const isSecondHalf = at(columns - 1)?.getWidth() === 0 && at(columns - 2)?.getWidth() === 2;
  const column = isSecondHalf ? columns - 2 : columns - 1;
  const cell = at(column);
  if (cell === undefined) return position(row, column);
  // A combining character that takes a cell of its own is not shown.
  return position(row, column) + sgr(cell) + ((cell.getWidth() > 0 && cell.getChars()) || " ");
}

/** Reads the rows of a screen. A large one in many colours takes a while; others get their turn in between. */
export async function readRows<T>(rows: number, read: (row: number) => T): Promise<T[]> {
  const turns = new Turns();
  const results: T[] = [];
  for (let row = 0; row < rows; row += 1) {
    results.push(read(row));
    if (turns.over) await turns.next();
  }
  return results;
}
