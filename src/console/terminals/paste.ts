/** Controls other than a tab and the ends of lines. */
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f]/g;
const BRACKETS = { open: "\u001b[200~", close: "\u001b[201~" };
/** What begins sequences of keys, as two characters or as one. */
// oxlint-disable-next-line no-control-regex
const ESCAPE = /\x1b|\x9b/g;

/** What is in a text that somebody wants to paste. */
export interface PasteContents {
  readonly lines: number;
  /** Whether a line has an end, which is the Enter key. */
  readonly enters: boolean;
  readonly controls: number;
}

export function contentsOf(text: string): PasteContents {
  const lines = text.split(/\r\n|\r|\n/);
  const isEnded = lines.length > 1 && lines.at(-1) === "";
  const enters = lines.length > 1;
  return { lines: lines.length - (isEnded ? 1 : 0), enters, controls: text.match(CONTROL)?.length ?? 0 };
}

/** Whether to ask first. A program that knows what is pasted runs no line of it, but it obeys control characters. */
export function mustAsk({ enters, controls }: PasteContents, { bracketed }: { bracketed: boolean }): boolean {
  return controls > 0 || (enters && !bracketed);
}

/** What a terminal sends for a pasted text. */
export function pasted(text: string, { bracketed }: { bracketed: boolean }): string {
  const typed = text.replace(/\r\n|\n/g, "\r");
  if (!bracketed) return typed;
  // A text that ends the paste by itself would be typed from there on. Taking only the end mark out can make another one
  // of what is around it.
  return `${BRACKETS.open}${typed.replace(ESCAPE, "\u241b")}${BRACKETS.close}`;
}
