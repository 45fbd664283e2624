import { formatSize } from "../../base/amounts.ts";
import { visibleText } from "../../base/visible-text.ts";
import { textOfBase64 } from "./base64-text.ts";
import { type Json, type JsonObject } from "./json-path.ts";

interface Token {
  readonly kind: "key" | "text" | "number" | "word" | "mark" | "note";
  readonly text: string;
}

interface PreviewLine {
  readonly depth: number;
  readonly tokens: readonly Token[];
}

export interface JsonPreview {
  readonly lines: readonly PreviewLine[];
  /** Whether something was left out. */
  readonly isCut: boolean;
}

/** The character limit is per text. */
const LIMITS = { lines: 1000, characters: 4000, depth: 60 };
/** Maximum length of decoded text shown beside base64. */
const DECODED_CHARACTERS = 400;
/** Members that hold base64, as the protocol calls them. */
const BASE64_NAME = /base64$|^chunk$/i;

/** A value as readable lines. However large it is, only the shown part is read. */
export function previewJson(value: Json, limits = LIMITS): JsonPreview {
  return new Writer(limits).write(value);
}

class Writer {
  readonly #limits: typeof LIMITS;
  readonly #lines: PreviewLine[] = [];
  #isCut = false;
  #lacksLines = false;

  constructor(limits: typeof LIMITS) {
    this.#limits = limits;
  }

  write(value: Json): JsonPreview {
    this.#value(value, { depth: 0, before: [], after: "" });
    if (this.#lacksLines) this.#lines.push({ depth: 0, tokens: [note("…")] });
    return { lines: this.#lines, isCut: this.#isCut || this.#lacksLines };
  }

  get #isFull(): boolean {
    return this.#lines.length >= this.#limits.lines;
  }

  #line(depth: number, tokens: readonly Token[]): void {
    if (this.#isFull) this.#lacksLines = true;
    else this.#lines.push({ depth, tokens });
  }

  #value(value: Json, context: LineContext): void {
    const { depth, before, after } = context;
    if (typeof value === "object" && value !== null) this.#nested(value as JsonObject | Json[], context);
    else if (typeof value === "string") this.#text(value, context);
    else
      this.#line(depth, [
        ...before,
        { kind: typeof value === "number" ? "number" : "word", text: String(value) },
        mark(after),
      ]);
  }

  #text(value: string, { depth, before, after, name = "" }: LineContext): void {
    const { characters } = this.#limits;
    const isLong = value.length > characters;
    if (isLong) this.#isCut = true;
    const shown = JSON.stringify(isLong ? value.slice(0, characters) : value);
    const meaning = BASE64_NAME.test(name) ? decodedPreview(value) : undefined;
    this.#line(depth, [
      ...before,
      { kind: "text", text: visibleText(shown) },
      ...(isLong ? [note(` … ${formatSize(value.length)} in all`)] : []),
      mark(after),
      ...(meaning === undefined ? [] : [note(`  is ${visibleText(meaning)}`)]),
    ]);
  }

  #nested(value: JsonObject | readonly Json[], { depth, before, after }: LineContext): void {
    const isList = Array.isArray(value);
    const [open, close] = isList ? ["[", "]"] : ["{", "}"];
    const names = isList ? undefined : Object.keys(value);
    const length = names?.length ?? (value as readonly Json[]).length;
    if (length === 0) return this.#line(depth, [...before, mark(`${open}${close}${after}`)]);
    if (depth >= this.#limits.depth) {
      this.#isCut = true;
      return this.#line(depth, [...before, mark(open), note("…"), mark(`${close}${after}`)]);
    }
    this.#line(depth, [...before, mark(open)]);
    for (let index = 0; index < length && !this.#isFull; index++) {
      const name = names?.[index];
      this.#value(name === undefined ? (value as readonly Json[])[index] : (value as JsonObject)[name], {
        depth: depth + 1,
        before: name === undefined ? [] : [key(name, this.#limits.characters), mark(": ")],
        after: index < length - 1 ? "," : "",
        ...(name === undefined ? {} : { name }),
      });
    }
    this.#line(depth, [mark(`${close}${after}`)]);
  }
}

interface LineContext {
  readonly depth: number;
  /** Tokens before the value in its line. */
  readonly before: readonly Token[];
  readonly after: string;
  readonly name?: string;
}

function decodedPreview(base64: string): string | undefined {
  if (base64 === "") return undefined;
  const isLong = base64.length > DECODED_CHARACTERS * 4;
  const text = textOfBase64(isLong ? base64.slice(0, DECODED_CHARACTERS * 4) : base64);
  if (text === undefined || text.includes("\0")) return undefined;
  const shown = JSON.stringify(text.slice(0, DECODED_CHARACTERS));
  return text.length > DECODED_CHARACTERS || isLong ? `${shown} …` : shown;
}

function key(name: string, characters: number): Token {
  return { kind: "key", text: visibleText(JSON.stringify(name.slice(0, characters))) };
}

function mark(text: string): Token {
  return { kind: "mark", text };
}

function note(text: string): Token {
  return { kind: "note", text };
}
