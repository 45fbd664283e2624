import { UsageError } from "../../base/errors.ts";
import { columnList } from "../input/rows-file.ts";

/** A plain name. It is matched where a brace opens. */
const PLAIN_NAME = /[\p{L}_][\p{L}\p{N}_-]*/uy;

/**
 * Text with column names in braces: `{name}` stands for the cell, and `{{` for a brace. Anything else in braces is
 * text, so that programs of awk and jq need no change.
 */
export class Template {
  /** Texts between the names: always one more than there are names. */
  readonly texts: readonly string[];
  /** Columns in the order of their places. */
  readonly names: readonly string[];

  constructor(text: string) {
    const texts: string[] = [];
    const names: string[] = [];
    let current = "";
    let from = 0;
    for (let at = text.indexOf("{"); at !== -1; at = text.indexOf("{", from)) {
      const name = nameAt(text, at + 1);
      current += text.slice(from, at);
      if (name === undefined) {
        current += "{";
        from = at + (text[at + 1] === "{" ? 2 : 1);
      } else {
        texts.push(current);
        names.push(name);
        current = "";
        from = at + name.length + 2;
      }
    }
    this.texts = [...texts, current + text.slice(from)];
    this.names = names;
  }

  /** Throws if a name is not a column. */
  check(columns: readonly string[]): void {
    for (const name of this.names)
      if (!columns.includes(name))
        throw new UsageError(
          `{${name}} is not a column of the input: ${columnList(columns)}; write {{ for a literal brace`,
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

/** The plain name that stands there, if a brace closes behind it. */
function nameAt(text: string, at: number): string | undefined {
  PLAIN_NAME.lastIndex = at;
  const [name] = PLAIN_NAME.exec(text) ?? [];
  return name !== undefined && text[at + name.length] === "}" ? name : undefined;
}
