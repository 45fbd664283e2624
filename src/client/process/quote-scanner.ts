import { UsageError } from "../../base/errors.ts";

/** How a value must be written to be taken literally. */
export type QuoteContext =
  /** As separate words, each quoted. */
  | "word"
  /** Unchanged: the shell does not split it. */
  | "quoted"
  /** Outside the single quotes, which are closed before it and opened again after it. */
  | "single"
  /** Unchanged; the shell evaluates it, so it must be a number. */
  | "number";

/** Commands: a script, a subshell or a command substitution. */
interface Commands {
  readonly kind: "commands";
  /** The word that is being read. */
  word: string;
  isComment: boolean;
  /** The next word is the name of a command, or a keyword. */
  isCommandNext: boolean;
  /** Number of open `case` statements: a `)` then ends a pattern. */
  openCases: number;
}

interface HereDocument {
  readonly kind: "hereDocument";
  readonly delimiter: string;
  /** Whether nothing in it is expanded. */
  readonly isLiteral: boolean;
  readonly stripsTabs: boolean;
}

type Context =
  | Commands
  | HereDocument
  | { readonly kind: "double" | "single" | "dollarSingle" | "backquotes" | "arithmetic" }
  /** `${name…}`; its contents are not split if it is in double quotes. */
  | { readonly kind: "parameter"; readonly isQuoted: boolean };

const SEPARATORS = /[\s;&|()<>]/;
/** A command follows them. */
const KEYWORDS = new Set(["if", "then", "elif", "else", "while", "until", "do", "!", "{"]);
const HERE_DOCUMENT = /<<(?<dash>-?)[ \t]*(?<word>(?:'[^'\n]*'|"[^"\n]*"|\\.|[^\s;&|()<>'"\\])*)/y;

/** Follows the quotes of a shell script, so that it is known how a value must be written. */
export class QuoteScanner {
  /** Innermost last. */
  readonly #contexts: Context[] = [commands()];
  /** Announced in the current line; their text starts in the next one. */
  readonly #documents: HereDocument[] = [];
  #isLineStart = true;

  /** How a value is written after everything read so far. Throws a UsageError where a value cannot be used. */
  get quoting(): QuoteContext {
    const context = this.#context;
    switch (context.kind) {
      case "commands":
        return "word";
      case "double":
        return "quoted";
      case "single":
        return "single";
      case "arithmetic":
        return "number";
      case "parameter":
        return context.isQuoted ? "quoted" : "word";
      case "hereDocument":
        if (!context.isLiteral) return "quoted";
        throw new UsageError("a value cannot be used in a here-document whose delimiter is quoted");
      case "backquotes":
        throw new UsageError("a value cannot be used in backquotes: use $(…)");
      case "dollarSingle":
        throw new UsageError("a value cannot be used in $'…': use '…'");
    }
  }

  get #context(): Context {
    return this.#contexts.at(-1)!;
  }

  /** Skips a value that follows what was read. */
  skipValue(): void {
    this.#isLineStart = false;
    this.#insideWord();
  }

  read(text: string): void {
    for (let index = 0; index < text.length; ) index += this.#step(text, index);
  }

  /** Reads from `index` on; returns the number of characters. */
  #step(text: string, index: number): number {
    const context = this.#context;
    if (context.kind === "hereDocument" && this.#isLineStart) {
      const length = this.#endDocument(context, text, index);
      if (length > 0) return length;
    }
    const character = text[index]!;
    this.#isLineStart = character === "\n";
    switch (context.kind) {
      case "single":
        return this.#until("'", character);
      case "dollarSingle":
        return character === "\\" ? 2 : this.#until("'", character);
      case "backquotes":
        return character === "\\" ? 2 : this.#until("`", character);
      case "hereDocument":
        return context.isLiteral ? 1 : (this.#expansion(text, index) ?? 1);
      case "double":
        return this.#expansion(text, index) ?? this.#until('"', character);
      case "parameter":
        return this.#expansion(text, index) ?? this.#parameter(context.isQuoted, character);
      case "arithmetic":
        return this.#expansion(text, index) ?? this.#arithmetic(text, index);
      case "commands":
        if (!context.isComment) return this.#expansion(text, index) ?? this.#command(context, text, index);
        if (character !== "\n") return 1;
        context.isComment = false;
        return this.#command(context, text, index);
    }
  }

  #until(end: string, character: string): number {
    if (character === end) this.#contexts.pop();
    return 1;
  }

  /** An escape, or the beginning of an expansion; undefined for anything else. */
  #expansion(text: string, index: number): number | undefined {
    const begins = (start: string): boolean => text.startsWith(start, index);
    if (begins("\\")) {
      this.#insideWord();
      return 2;
    }
    if (begins("$((")) return this.#open({ kind: "arithmetic" }, 3);
    if (begins("$(")) return this.#open(commands(), 2);
    if (begins("${")) return this.#open({ kind: "parameter", isQuoted: this.#isQuoted }, 2);
    if (begins("$'") && !this.#isQuoted) return this.#open({ kind: "dollarSingle" }, 2);
    return begins("`") ? this.#open({ kind: "backquotes" }, 1) : undefined;
  }

  #open(context: Context, length: number): number {
    this.#insideWord();
    this.#contexts.push(context);
    return length;
  }

  #insideWord(): void {
    const context = this.#context;
    if (context.kind === "commands") context.word += "$";
  }

  /** Whether expansions are not split into words here. */
  get #isQuoted(): boolean {
    const context = this.#context;
    return context.kind === "parameter" ? context.isQuoted : context.kind !== "commands";
  }

  #parameter(isQuoted: boolean, character: string): number {
    if (character === '"') return this.#open({ kind: "double" }, 1);
    if (character === "'" && !isQuoted) return this.#open({ kind: "single" }, 1);
    return this.#until("}", character);
  }

  /** Brackets in it are arithmetic too. It ends with two of them. */
  #arithmetic(text: string, index: number): number {
    if (text[index] === "(") return this.#open({ kind: "arithmetic" }, 1);
    if (text[index] !== ")") return 1;
    this.#contexts.pop();
    return this.#context.kind !== "arithmetic" && text[index + 1] === ")" ? 2 : 1;
  }

  #command(context: Commands, text: string, index: number): number {
    const character = text[index]!;
    if (character === '"') return this.#open({ kind: "double" }, 1);
    if (character === "'") return this.#open({ kind: "single" }, 1);
    if (character === "#" && context.word === "") context.isComment = true;
    else if (!SEPARATORS.test(character)) context.word += character;
    else return this.#separator(context, text, index);
    return 1;
  }

  #separator(context: Commands, text: string, index: number): number {
    endWord(context);
    switch (text[index]) {
      case "\n":
        context.isCommandNext = true;
        this.#openDocument();
        return 1;
      case ";":
      case "&":
      case "|":
        context.isCommandNext = true;
        return 1;
      case "(":
        this.#contexts.push(commands());
        return 1;
      case ")":
        if (context.openCases > 0) context.isCommandNext = true;
        else if (this.#contexts.length > 1) this.#contexts.pop();
        return 1;
      case "<":
        if (text.startsWith("<<<", index)) return 3;
        return text.startsWith("<<", index) ? this.#announceDocument(text, index) : 1;
      default:
        return 1;
    }
  }

  #announceDocument(text: string, index: number): number {
    HERE_DOCUMENT.lastIndex = index;
    const match = HERE_DOCUMENT.exec(text);
    const { word = "", dash } = match?.groups ?? {};
    if (match === null || word === "")
      throw new UsageError("the delimiter of a here-document must be text of the script");
    this.#documents.push({
      kind: "hereDocument",
      delimiter: word.replace(/['"\\]/g, ""),
      isLiteral: /['"\\]/.test(word),
      stripsTabs: dash === "-",
    });
    return match[0].length;
  }

  #openDocument(): void {
    const document = this.#documents.shift();
    if (document !== undefined) this.#contexts.push(document);
  }

  /** Length of the line that ends a here-document; 0 for any other line. */
  #endDocument({ delimiter, stripsTabs }: HereDocument, text: string, index: number): number {
    const end = text.indexOf("\n", index);
    if (end < 0) return 0;
    const line = text.slice(index, end);
    if ((stripsTabs ? line.replace(/^\t+/, "") : line) !== delimiter) return 0;
    this.#contexts.pop();
    this.#openDocument();
    return line.length + 1;
  }
}

function commands(): Commands {
  return { kind: "commands", word: "", isComment: false, isCommandNext: true, openCases: 0 };
}

function endWord(context: Commands): void {
  const { word } = context;
  context.word = "";
  if (word === "" || !context.isCommandNext) return;
  if (word === "case") context.openCases += 1;
  else if (word === "esac" && context.openCases > 0) context.openCases -= 1;
  context.isCommandNext = KEYWORDS.has(word);
}
