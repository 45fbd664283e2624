/** Controls other than a tab and the ends of lines. */
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f]/g;
const BRACKETS = { open: "\u001b[200~", close: "\u001b[201~" };
/** The end of a paste, also as one byte in place of the first two. */
// oxlint-disable-next-line no-control-regex
const END_MARK = /(?:\x1b\[|\x9b)201~/g;

/** What is in a text that somebody wants to paste. */
export interface PasteContents {
  readonly lines: number;
  readonly controls: number;
}

export function contentsOf(text: string): PasteContents {
  const lines = text.split(/\r\n|\r|\n/);
  // A line end at the end runs the line before it.
  return { lines: lines.length, controls: text.match(CONTROL)?.length ?? 0 };
}

/** Whether to ask first. A program that knows what is pasted runs no line of it, but it obeys control characters. */
export function mustAsk({ lines, controls }: PasteContents, { bracketed }: { bracketed: boolean }): boolean {
  return controls > 0 || (lines > 1 && !bracketed);
}

/** What a terminal sends for a pasted text. */
export function pasted(text: string, { bracketed }: { bracketed: boolean }): string {
  const typed = text.replace(/\r\n|\n/g, "\r");
  if (!bracketed) return typed;
  // A text that ends the paste by itself would be typed from there on.
  return `${BRACKETS.open}${typed.replace(END_MARK, "[201~")}${BRACKETS.close}`;
}
