import type { WindowSize } from "./local-terminal.ts";

const ESC = "\u001b";
const CSI = `${ESC}[`;

/** Ends everything that a program may have set: the mouse, margins, colours, key modes. The cursor stays. */
const DEFAULT_MODES = "?9l ?1000l ?1002l ?1003l ?1006l ?1016l ?1004l ?2004l ?1l ?7h 4l ?25h m".split(" ");
/** Resetting the margins or the origin moves the cursor. */
const DEFAULTS = `${DEFAULT_MODES.map((mode) => CSI + mode).join("")}${CSI}0 q${ESC}>${ESC}(B${ESC})B\u000f${ESC}7${CSI}r${CSI}?6l${ESC}8`;
/**
 * Each screen has its own saved cursor, to which leaving the alternate screen returns: in some terminals, even if it
 * was not in use.
 */
const PRIMARY_SCREEN = `${ESC}7${CSI}?1049l`;

/** Leaves a remote program's screen: what follows appears below the cursor. */
export function leaveScreen(): string {
  return `${PRIMARY_SCREEN}${DEFAULTS}\r\n${CSI}J`;
}

/** Makes room for another screen. `keep` scrolls what is above the cursor out of sight instead of erasing it. */
export function clearScreen({ rows }: WindowSize, { keep }: { keep: boolean }): string {
  // From the cursor, not from the last row, which would scroll out the empty rows below it, too.
  const away = keep ? "\n".repeat(rows - 1) : "";
  return `${PRIMARY_SCREEN}${DEFAULTS}${away}${CSI}H${CSI}2J`;
}

/** Writes a notice over the last row; the screen has to be painted again later. */
export function statusLine({ rows, cols }: WindowSize, text: string): string {
  return `${ESC}7${CSI}${rows};1H${CSI}0;7m${text.slice(0, cols - 1)}${CSI}m${CSI}K${ESC}8`;
}

/** Erases the notice, so that it is not scrolled out with the rest. */
export function eraseStatusLine({ rows }: WindowSize): string {
  return `${CSI}${rows};1H${CSI}m${CSI}2K`;
}
