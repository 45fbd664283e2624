import { UsageError } from "../../base/errors.ts";
import { checkText } from "../../base/system-text.ts";

/** A value in a script: one word, or a list of words. */
export type ShellValue = string | number | bigint | boolean | readonly (string | number | bigint | boolean)[];

/** How the shell parses the place of a value. */
type Context = "plain" | "double" | "single";

/**
 * A script whose values are arguments of the shell and never part of its text, so that no value can become code. A
 * value stands for itself, quoted or not; a list stands for its words. Backslashes belong to the shell, except those
 * that JavaScript needs before a backquote and before `${`.
 */
export function shellScript(
  { raw }: Pick<TemplateStringsArray, "raw">,
  values: readonly ShellValue[],
): { readonly script: string; readonly words: readonly string[] } {
  const words: string[] = [];
  const scanner = new QuoteScanner();
  let script = "";
  for (const [index, written] of raw.entries()) {
    const text = written.replace(/\\(\\|`|\$\{)/g, (escape, escaped: string) =>
      escaped === "\\" ? escape : escaped,
    );
    script += text;
    scanner.read(text);
    if (index >= values.length) break;
    const names = wordsOf(values[index]).map((word) => {
      words.push(word);
      return `\${${words.length}}`;
    });
    script += inContext(names, scanner.context);
    scanner.skipValue();
  }
  return { script, words };
}

function inContext(names: readonly string[], context: Context): string {
  switch (context) {
    case "plain":
      return names.map((name) => `"${name}"`).join(" ");
    case "double":
      return names.join(" ");
    case "single":
      return names.length === 0 ? "" : `'"${names.join(" ")}"'`;
  }
}

function wordsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(wordOf) : [wordOf(value)];
}

function wordOf(value: unknown): string {
  switch (typeof value) {
    case "string":
      checkText("a value in a script", value);
      return value;
    case "number":
    case "bigint":
    case "boolean":
      return String(value);
    default:
      throw new UsageError(
        `a value in a script must be text, a number, true, false or a list of these, not ${value === null ? "null" : typeof value}`,
      );
  }
}

/** Follows the quotes of a script, through command substitutions and comments. */
class QuoteScanner {
  /** Innermost last. `$(` starts a plain one in any context. */
  readonly #contexts: Context[] = ["plain"];
  #isComment = false;
  /** A `#` starts a comment only at the start of a word. */
  #atWordStart = true;
  #escaped = false;

  get context(): Context {
    return this.#contexts.at(-1)!;
  }

  skipValue(): void {
    this.#escaped = false;
    this.#atWordStart = false;
  }

  read(text: string): void {
    for (let index = 0; index < text.length; index += 1) {
      const character = text[index]!;
      if (this.#isComment) this.#isComment = character !== "\n";
      else if (this.#escaped) this.#escaped = false;
      else if (this.context === "single") this.#readSingle(character);
      else if (character === "\\") this.#escaped = true;
      else if (character === "$" && text[index + 1] === "(") {
        this.#contexts.push("plain");
        this.#atWordStart = true;
        index += 1;
        continue;
      } else this.#readOpen(character);
      this.#atWordStart = /[\s;&|()]/.test(character);
    }
  }

  #readSingle(character: string): void {
    if (character === "'") this.#contexts.pop();
  }

  #readOpen(character: string): void {
    const isPlain = this.context === "plain";
    if (character === '"') {
      if (isPlain) this.#contexts.push("double");
      else this.#contexts.pop();
    } else if (isPlain && character === "'") {
      this.#contexts.push("single");
    } else if (isPlain && character === "(") {
      this.#contexts.push("plain");
    } else if (isPlain && character === ")" && this.#contexts.length > 1) {
      this.#contexts.pop();
    } else if (isPlain && character === "#" && this.#atWordStart) {
      this.#isComment = true;
    }
  }
}
