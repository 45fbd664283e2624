/** Narrower terminals get lines that wrap. */
const MIN_WIDTH = 20;
const DEFAULT_WIDTH = 80;

/** Columns of the terminal on stdout; undefined if stdout is not a terminal. */
export function terminalWidth(): number | undefined {
  const { isTTY, columns } = process.stdout;
  // A terminal that does not know its size is still one.
  return isTTY ? Math.max(columns > 0 ? columns : DEFAULT_WIDTH, MIN_WIDTH) : undefined;
}

/** Characters that take two columns: East Asian wide and full-width forms, and emoji. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1b000}-\u{1b2ff}\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1faff}\u{20000}-\u{3fffd}]/u;
/** Characters drawn over the previous one. */
const COMBINING = /\p{Mn}|\p{Me}|[\u200b-\u200d]|[\ufe00-\ufe0f]/u;
const ASCII = /^[ -~]*$/;

function widthOfCharacter(character: string): number {
  if (COMBINING.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}

/** Number of columns that printable text takes in a terminal. */
export function widthOf(text: string): number {
  if (ASCII.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += widthOfCharacter(character);
  return width;
}

/** The beginning of a text that fits, marked if something is cut off. */
export function fit(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let kept = "";
  let width = 0;
  for (const character of text) {
    width += widthOfCharacter(character);
    if (width > columns - 1) break;
    kept += character;
  }
  return columns < 1 ? "" : `${kept}…`;
}

/** Text followed by spaces up to a width, or preceded by them. */
export function pad(text: string, columns: number, align: "left" | "right" = "left"): string {
  const spaces = " ".repeat(Math.max(0, columns - widthOf(text)));
  return align === "left" ? text + spaces : spaces + text;
}
