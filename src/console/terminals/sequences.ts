const ESC = "\u001b";
const CSI = `${ESC}[`;
/** Ends whatever sequence is being read. */
const CANCEL = "\u0018";

/** Ends everything that a program may have set, and leaves the alternate screen. */
const DEFAULTS = `${CANCEL}${CSI}?1049l${CSI}!p${CSI}?1;9;1000;1002;1003;1004;1006;1016;2004;2026l${CSI}?7h${CSI}0 q${ESC}>`;

/** Empties the screen, and nothing above it. */
export const CLEAR = `${DEFAULTS}${CSI}H${CSI}2J`;

/** Moves what the screen shows out of sight, followed by a line of explanation, and empties the screen. */
export function clearAfter(rows: number, notice: string): string {
  return `${DEFAULTS}${CSI}${rows};1H\r\n${CSI}2m${notice}${CSI}m${"\r\n".repeat(rows)}${CSI}H${CSI}2J`;
}
