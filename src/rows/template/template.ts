import { UsageError } from "../../base/errors.ts";
import { columnList } from "../input/rows-file.ts";

/** Two braces, or something in braces. */
const PLACEHOLDER = /\{\{|\{([^{}]*)\}/g;
const PLAIN_NAME = /^[\p{L}_][\p{L}\p{N}_-]*$/u;

/**
 * Text with the names of columns in braces: `{name}` stands for the cell, and `{{` for a brace. Whatever else stands in
 * braces is text, so that the programs of awk and jq need no change.
 */
export class Template {
  /** What stands between the names: always one more. */
  readonly texts: readonly string[];
  /** Columns in the order of their places. */
  readonly names: readonly string[];

  constructor(text: string) {
    const texts: string[] = [];
    const names: string[] = [];
    let current = "";
    let from = 0;
    for (const match of text.matchAll(PLACEHOLDER)) {
      const [found, name] = match;
      current += text.slice(from, match.index);
      from = match.index + found.length;
      if (name !== undefined && PLAIN_NAME.test(name)) {
        texts.push(current);
        names.push(name);
        current = "";
      } else current += name === undefined ? "{" : found;
    }
    this.texts = [...texts, current + text.slice(from)];
    this.names = names;
  }

  /** Throws if a name is not that of a column. */
  check(columns: readonly string[]): void {
    for (const name of this.names)
      if (!columns.includes(name))
        throw new UsageError(
          `{${name}} is no column of the input: ${columnList(columns)}; a brace that is meant as such is written {{`,
        );
  }

  /** A column that a row of JSON lines does not have. */
  missing(values: Readonly<Record<string, string>>): string | undefined {
    return this.names.find((name) => !Object.hasOwn(values, name));
  }

  /** The text for a row. */
  textFor(values: Readonly<Record<string, string>>): string {
    return this.texts.reduce((text, next, index) => text + (values[this.names[index - 1]!] ?? "") + next);
  }
}
