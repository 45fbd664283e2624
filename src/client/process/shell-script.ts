import { UsageError } from "../../base/errors.ts";
import { checkText } from "../../base/system-text.ts";
import { QuoteScanner, type QuoteContext } from "./quote-scanner.ts";

/** A value in a script: one word, or a list of words. */
export type ShellValue = string | number | bigint | boolean | readonly (string | number | bigint | boolean)[];

/**
 * Moves the arguments into variables, because functions, `set` and `shift` have their own arguments. Only digits are
 * evaluated.
 */
const TAKE_VALUES = `__n=0; for __v do __n=$((__n+1)); eval "__$__n=\\$__v"; done; shift $#; `;
const WHOLE_NUMBER = /^-?[0-9]+$/;

/**
 * A script whose values are arguments of the shell and never part of its text, so that no value can become code. A
 * value stands for itself, quoted or not; a list stands for its words. Backslashes belong to the shell, except those
 * that JavaScript needs before a backquote and before `${`.
 */
export function shellScript(
  { raw }: Pick<TemplateStringsArray, "raw">,
  values: readonly ShellValue[],
): ShellScript {
  const texts = raw.map((written) =>
    written.replace(/\\(\\|`|\$\{)/g, (escape, escaped: string) => (escaped === "\\" ? escape : escaped)),
  );
  return scriptWithValues(texts, values);
}

/** A script and the arguments that it needs, after the name of the shell. */
export interface ShellScript {
  readonly script: string;
  readonly words: readonly string[];
}

/** The same for texts in which every backslash belongs to the shell. */
export function scriptWithValues(texts: readonly string[], values: readonly ShellValue[]): ShellScript {
  const words: string[] = [];
  const scanner = new QuoteScanner();
  let script = "";
  for (const [index, text] of texts.entries()) {
    script += text;
    scanner.read(text);
    if (index >= values.length) break;
    const { quoting } = scanner;
    const names = wordsOf(values[index]).map((word) => {
      if (quoting === "number" && !WHOLE_NUMBER.test(word))
        throw new UsageError(`a value in $((…)) must be a whole number, not ${JSON.stringify(word)}`);
      words.push(word);
      return `\${__${words.length}}`;
    });
    script += quoteNames(names, quoting);
    scanner.skipValue();
  }
  return { script: words.length === 0 ? script : TAKE_VALUES + script, words };
}

function quoteNames(names: readonly string[], quoting: QuoteContext): string {
  switch (quoting) {
    case "word":
      return names.map((name) => `"${name}"`).join(" ");
    case "quoted":
    case "number":
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
