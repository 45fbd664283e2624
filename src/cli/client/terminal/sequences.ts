import type { WindowSize } from "./local-terminal.ts";

const ESC = "\u001b";
const CSI = `${ESC}[`;

/** Ends everything that a program may have set: the alternate screen, the mouse, margins, colours, key modes. */
const DEFAULT_MODES =
  "?1049l ?9l ?1000l ?1002l ?1003l ?1006l ?1016l ?1004l ?2004l ?1l ?6l ?7h 4l ?25h m".split(" ");
const DEFAULTS = `${DEFAULT_MODES.map((mode) => CSI + mode).join("")}${CSI}0 q${ESC}>${ESC}(B${ESC})B\u000f${ESC}7${CSI}r${ESC}8`;

/** Leaves a remote program's screen: what follows appears below everything. */
export function leaveScreen({ rows }: WindowSize): string {
  return `${DEFAULTS}${CSI}${rows};1H\r\n`;
}

/** Makes room for another screen. `keep` moves what is there out of sight instead of erasing it. */
export function clearScreen({ rows }: WindowSize, { keep }: { keep: boolean }): string {
  const away = keep ? `${CSI}${rows};1H${"\n".repeat(rows)}` : "";
  return `${DEFAULTS}${away}${CSI}H${CSI}2J`;
}

/** Writes a notice over the last row; the screen has to be painted again later. */
export function statusLine({ rows, cols }: WindowSize, text: string): string {
  return `${ESC}7${CSI}${rows};1H${CSI}0;7m${text.slice(0, cols - 1)}${CSI}m${CSI}K${ESC}8`;
}

/** Erases the notice, so that it does not stay among what is moved out of sight. */
export function eraseStatusLine({ rows }: WindowSize): string {
  return `${CSI}${rows};1H${CSI}m${CSI}2K`;
}
