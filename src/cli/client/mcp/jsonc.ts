/** A value in the text of a JSON file that may have comments and trailing commas, as editors write them. */
export interface JsoncValue {
  readonly start: number;
  readonly end: number;
  readonly value: unknown;
  /** Of an object, in order. */
  readonly members?: readonly JsoncMember[];
}

interface JsoncMember extends JsoncValue {
  readonly key: string;
  readonly keyStart: number;
}

const MAX_DEPTH = 100;
/** What JSON allows between values. A byte order mark is only allowed at the start of a file. */
const BLANKS = " \t\r\n";
const LITERAL = /[-+.\w]*/y;

/** Parses a whole file. Throws an Error that says on which line it is not such JSON. */
export function parseJsonc(text: string): JsoncValue {
  return new Parser(text).parse();
}

/** The text with another member of an object, or another value of one that has the key, otherwise unchanged. */
export function withMember(text: string, object: JsoncValue, key: string, value: unknown): string {
  const { members = [] } = object;
  const old = members.findLast((member) => member.key === key);
  const [first] = members;
  const own = indentOf(text, object.start);
  const indent =
    first !== undefined && isFirstOnLine(text, first.keyStart) ? indentOf(text, first.keyStart) : `${own}  `;
  const newline = text.includes("\r\n") ? "\r\n" : "\n";
  const shown = JSON.stringify(value, undefined, 2).replaceAll("\n", `${newline}${indent}`);
  if (old !== undefined) return text.slice(0, old.start) + shown + text.slice(old.end);
  const last = members.at(-1);
  const at = last?.end ?? object.start + 1;
  // A comma that is there already stays where it is, with the comment behind it.
  const rest = text.slice(at, object.end);
  const comma = last === undefined ? 0 : skipBlanks(rest, 0);
  const hasComma = rest[comma] === ",";
  const from = hasComma ? at + comma + 1 : at;
  const between = last === undefined || hasComma ? "" : ",";
  const tail = text.slice(from, object.end - 1);
  const added = `${newline}${indent}${JSON.stringify(key)}: ${shown}`;
  if (tail.trim() === "")
    return `${text.slice(0, from)}${between}${added}${newline}${own}${text.slice(object.end - 1)}`;
  return `${text.slice(0, at)}${between}${text.slice(at, object.end - 1).trimEnd()}${added}${newline}${own}${text.slice(object.end - 1)}`;
}

function indentOf(text: string, at: number): string {
  const line = text.slice(text.lastIndexOf("\n", at - 1) + 1, at);
  return /^\ufeff?([ \t]*)/.exec(line)?.[1] ?? "";
}

const isFirstOnLine = (text: string, at: number): boolean =>
  text.slice(text.lastIndexOf("\n", at - 1) + 1, at).trim() === "" && text.lastIndexOf("\n", at - 1) >= 0;

/** Where blanks and comments end. */
function skipBlanks(text: string, from: number): number {
  let at = from;
  for (;;) {
    while (at < text.length && BLANKS.includes(text[at]!)) at += 1;
    if (text.startsWith("//", at)) at = endOf(text, "\n", at);
    else if (text.startsWith("/*", at)) at = endOf(text, "*/", at + 2);
    else return at;
  }
}

function endOf(text: string, mark: string, from: number): number {
  const at = text.indexOf(mark, from);
  return at < 0 ? text.length : at + mark.length;
}

class Parser {
  readonly #text: string;
  #at: number;

  constructor(text: string) {
    this.#text = text;
    this.#at = text.startsWith("\ufeff") ? 1 : 0;
  }

  parse(): JsoncValue {
    const value = this.#value(0);
    this.#skip();
    if (this.#at < this.#text.length) throw this.#wrong();
    return value;
  }

  #value(depth: number): JsoncValue {
    this.#skip();
    if (depth > MAX_DEPTH) throw this.#wrong();
    const start = this.#at;
    const first = this.#text[start];
    if (first === "{") return this.#object(depth);
    if (first === "[") {
      const items: unknown[] = [];
      this.#items("]", () => void items.push(this.#value(depth + 1).value));
      return { start, end: this.#at, value: items };
    }
    const value = first === '"' ? this.#string() : this.#literal();
    return { start, end: this.#at, value };
  }

  #object(depth: number): JsoncValue {
    const start = this.#at;
    const members: JsoncMember[] = [];
    this.#items("}", () => {
      const keyStart = this.#at;
      if (this.#text[keyStart] !== '"') throw this.#wrong();
      const key = this.#string();
      this.#skip();
      this.#take(":");
      members.push({ key, keyStart, ...this.#value(depth + 1) });
    });
    const value = Object.fromEntries(members.map((member) => [member.key, member.value]));
    return { start, end: this.#at, value, members };
  }

  /** What is between brackets: items with commas between them, and perhaps after the last one. */
  #items(close: string, read: () => void): void {
    this.#at += 1;
    for (;;) {
      this.#skip();
      if (this.#text[this.#at] === close) break;
      read();
      this.#skip();
      if (this.#text[this.#at] !== ",") break;
      this.#at += 1;
    }
    this.#take(close);
  }

  #string(): string {
    const start = this.#at;
    let end = start + 1;
    while (end < this.#text.length && this.#text[end] !== '"' && this.#text[end] !== "\n")
      end += this.#text[end] === "\\" ? 2 : 1;
    this.#at = end + 1;
    return this.#json(start) as string;
  }

  #literal(): unknown {
    const start = this.#at;
    LITERAL.lastIndex = start;
    LITERAL.test(this.#text);
    this.#at = Math.max(start, LITERAL.lastIndex);
    return this.#json(start);
  }

  #json(start: number): unknown {
    try {
      return JSON.parse(this.#text.slice(start, this.#at));
    } catch {
      this.#at = start;
      throw this.#wrong();
    }
  }

  #take(character: string): void {
    if (this.#text[this.#at] !== character) throw this.#wrong();
    this.#at += 1;
  }

  #skip(): void {
    this.#at = skipBlanks(this.#text, this.#at);
  }

  #wrong(): Error {
    const line = this.#text.slice(0, this.#at).split("\n").length;
    return new Error(`line ${line} is not JSON`);
  }
}
