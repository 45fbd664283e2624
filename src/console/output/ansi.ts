import { findDeceiving, visibleText } from "../../base/visible-text.ts";

/** A colour of the palette by its number, or red, green and blue as one number above `TRUE_COLOUR`. */
export type Colour = number;

/** Marks a colour that is not of the palette. */
export const TRUE_COLOUR = 0x1000000;

/** Appearance of characters. */
export interface Style {
  readonly foreground?: Colour;
  readonly background?: Colour;
  readonly bold?: true;
  readonly faint?: true;
  readonly italic?: true;
  readonly underlined?: true;
  readonly inverse?: true;
  readonly struck?: true;
}

/** Characters of a line that look different from plain ones. */
export interface Span {
  readonly start: number;
  readonly end: number;
  readonly style: Style;
}

export interface ParsedLine {
  /** Without escape sequences; deceptive characters are made visible. */
  readonly text: string;
  /** In order; undefined if all of it is plain. */
  readonly spans: readonly Span[] | undefined;
  /** Style at the start of the next line. */
  readonly style: Style;
}

export const PLAIN: Style = {};

const TAB = 8;
/** These belong to what stands beside them, as in emoji and some scripts, and change no direction. */
const JOINERS = new Set([0x200c, 0x200d, 0xfe0e, 0xfe0f]);

/** Whether a text has nothing to parse. */
export function isPlain(text: string): boolean {
  return findDeceiving(text) < 0;
}

/**
 * Reads one line of output: colours become spans, other sequences of terminals are dropped. After a carriage return
 * the line is written again from its beginning, as progress bars do.
 */
export function parseLine(raw: string, style: Style): ParsedLine {
  if (isPlain(raw))
    return {
      text: raw,
      spans: style === PLAIN || raw === "" ? undefined : [{ start: 0, end: raw.length, style }],
      style,
    };
  return new LineParser(raw, style).parse();
}

class LineParser {
  readonly #raw: string;
  #style: Style;
  #at = 0;
  #text = "";
  #spans: { start: number; end: number; style: Style }[] = [];
  #returned = false;

  constructor(raw: string, style: Style) {
    this.#raw = raw;
    this.#style = style;
  }

  parse(): ParsedLine {
    const raw = this.#raw;
    while (this.#at < raw.length) {
      const code = raw.codePointAt(this.#at)!;
      if (code === 0x1b) this.#escape();
      else if (code === 0x0d) {
        this.#returned = true;
        this.#at++;
      } else if (code === 0x08) {
        this.#back();
        this.#at++;
      } else if (code === 0x07) this.#at++;
      else if (code === 0x09) {
        this.#write(" ".repeat(TAB - (this.#returned ? 0 : this.#text.length % TAB)));
        this.#at++;
      } else this.#characters(code);
    }
    return {
      text: this.#text,
      spans: this.#spans.length === 0 ? undefined : this.#spans,
      style: this.#style,
    };
  }

  /** Takes plain characters up to the next special one, or one special character. */
  #characters(code: number): void {
    const rest = this.#raw.slice(this.#at);
    const special = findDeceiving(rest);
    if (special !== 0) {
      const plain = special < 0 ? rest : rest.slice(0, special);
      this.#write(plain);
      this.#at += plain.length;
      return;
    }
    const character = String.fromCodePoint(code);
    this.#write(JOINERS.has(code) ? character : visibleText(character));
    this.#at += character.length;
  }

  #write(text: string): void {
    if (this.#returned) {
      this.#text = "";
      this.#spans = [];
      this.#returned = false;
    }
    const start = this.#text.length;
    this.#text += text;
    if (this.#style === PLAIN) return;
    const last = this.#spans.at(-1);
    if (last?.end === start && last.style === this.#style) last.end = this.#text.length;
    else this.#spans.push({ start, end: this.#text.length, style: this.#style });
  }

  #back(): void {
    this.#text = this.#text.slice(0, -1);
    const last = this.#spans.at(-1);
    if (last === undefined || last.end <= this.#text.length) return;
    last.end = this.#text.length;
    if (last.start >= last.end) this.#spans.pop();
  }

  #escape(): void {
    const raw = this.#raw;
    const kind = raw[this.#at + 1];
    if (kind === "[") {
      let end = this.#at + 2;
      while (isBetween(raw.charCodeAt(end), 0x20, 0x3f)) end++;
      if (raw[end] === "m") this.#style = withSgr(this.#style, raw.slice(this.#at + 2, end));
      this.#at = end + 1;
    } else if (kind !== undefined && "]PX^_".includes(kind)) this.#at = endOfString(raw, this.#at + 2);
    else {
      let end = this.#at + 1;
      while (isBetween(raw.charCodeAt(end), 0x20, 0x2f)) end++;
      this.#at = end + 1;
    }
  }
}

/** A string for the terminal ends with BEL or ESC \; one that does not takes the rest of the line. */
function endOfString(raw: string, from: number): number {
  const bell = raw.indexOf("\x07", from);
  const terminator = raw.indexOf("\x1b\\", from);
  if (bell < 0 && terminator < 0) return raw.length;
  if (terminator < 0 || (bell >= 0 && bell < terminator)) return bell + 1;
  return terminator + 2;
}

function isBetween(code: number, first: number, last: number): boolean {
  return code >= first && code <= last;
}

/** The style after `ESC [ … m`. */
export function withSgr(before: Style, parameters: string): Style {
  if (/[^\d;:]/.test(parameters)) return before;
  const codes = parameters.split(/[;:]/).map(Number);
  let style: Record<string, unknown> = { ...before };
  for (let index = 0; index < codes.length; index++) {
    const code = codes[index]!;
    if (code === 0) style = {};
    else if (code === 38 || code === 48) {
      const [colour, used] = extendedColour(codes, index + 1);
      index += used;
      if (colour !== undefined) style[code === 38 ? "foreground" : "background"] = colour;
    } else if (isBetween(code, 30, 37)) style["foreground"] = code - 30;
    else if (isBetween(code, 90, 97)) style["foreground"] = code - 82;
    else if (isBetween(code, 40, 47)) style["background"] = code - 40;
    else if (isBetween(code, 100, 107)) style["background"] = code - 92;
    else if (SWITCHED_ON[code] !== undefined) style[SWITCHED_ON[code]] = true;
    else for (const name of SWITCHED_OFF[code] ?? []) delete style[name];
  }
  return Object.keys(style).length === 0 ? PLAIN : style;
}

const SWITCHED_ON: Readonly<Record<number, keyof Style>> = {
  1: "bold",
  2: "faint",
  3: "italic",
  4: "underlined",
  7: "inverse",
  9: "struck",
};

const SWITCHED_OFF: Readonly<Record<number, readonly (keyof Style)[]>> = {
  22: ["bold", "faint"],
  23: ["italic"],
  24: ["underlined"],
  27: ["inverse"],
  29: ["struck"],
  39: ["foreground"],
  49: ["background"],
};

/** The colour after 38 or 48, and how many numbers it takes. */
function extendedColour(codes: readonly number[], at: number): [Colour | undefined, number] {
  if (codes[at] === 5) return [isByte(codes[at + 1]) ? codes[at + 1] : undefined, 2];
  if (codes[at] !== 2) return [undefined, 1];
  const [red, green, blue] = codes.slice(at + 1, at + 4);
  if (!isByte(red) || !isByte(green) || !isByte(blue)) return [undefined, 4];
  return [TRUE_COLOUR + red * 0x10000 + green * 0x100 + blue, 4];
}

function isByte(value: number | undefined): value is number {
  return value !== undefined && Number.isInteger(value) && value <= 255;
}
