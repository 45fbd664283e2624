/** Controls other than a tab and the ends of lines. */
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f]/g;
const BRACKETS = { open: "\u001b[200~", close: "\u001b[201~" };
/** Start of key sequences, as two characters or as one. */
// oxlint-disable-next-line no-control-regex
const ESCAPE = /\x1b|\x9b/g;

/** Properties of pasted text. */
export interface PasteContents {
  readonly lines: number;
  /** Whether it contains a line ending, which acts as the Enter key. */
  readonly enters: boolean;
  readonly controls: number;
}

export function contentsOf(text: string): PasteContents {
  const lines = text.split(/\r\n|\r|\n/);
  const isEnded = lines.length > 1 && lines.at(-1) === "";
  const enters = lines.length > 1;
  return { lines: lines.length - (isEnded ? 1 : 0), enters, controls: text.match(CONTROL)?.length ?? 0 };
}

/** Whether to ask first. A program that recognizes pastes does not run their lines, but it obeys control characters. */
export function mustAsk({ enters, controls }: PasteContents, { bracketed }: { bracketed: boolean }): boolean {
  return controls > 0 || (enters && !bracketed);
}

/** The bytes that a terminal sends for pasted text. */
export function pasted(text: string, { bracketed }: { bracketed: boolean }): string {
  const typed = text.replace(/\r\n|\n/g, "\r");
  if (!bracketed) return typed;
  // Text that ends the paste would be typed from there on. Removing only the end mark could create another one from the
  // text around it.
  return `${BRACKETS.open}${typed.replace(ESCAPE, "\u241b")}${BRACKETS.close}`;
}
