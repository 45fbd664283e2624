/** Longer lines are hard to read, however wide the window is. */
const MAX_COLUMNS = 100;
/** Width if that of the window is unknown, such as in a pager. */
const DEFAULT_COLUMNS = 80;
/** Nothing but the second column of a table begins that far in. */
const MEANING_COLUMN = 12;
/** A name of a table; more words are an example. */
const MAX_NAME_WORDS = 3;
/** The lines of an example after the first. */
const CONTINUED_INDENT = "    ";

/** How wide help is to be. */
export function helpColumns(
  { isTTY, columns }: Pick<NodeJS.WriteStream, "isTTY" | "columns"> = process.stdout,
): number {
  return Math.min(isTTY && columns > 0 ? columns : DEFAULT_COLUMNS, MAX_COLUMNS);
}

/**
 * Breaks the lines of help between words, where a terminal would break them anywhere: paragraphs, tables, whose second
 * column stays one, and examples, which can still be pasted.
 */
export function fitText(text: string, columns: number): string {
  const lines = text.split("\n");
  const fitted: string[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at]!;
    const start = meaningStart(line);
    if (line === "") fitted.push(line);
    else if (start !== undefined) {
      const words = [line.slice(start)];
      while (indentOf(lines[at + 1] ?? "") === start) words.push(lines[++at]!);
      fitted.push(...wrapped(wordsOf(words), columns, line.slice(0, start), " ".repeat(start)));
    } else if (line.startsWith(" ")) fitted.push(...example(line, columns));
    else {
      const words = [line];
      while (indentOf(lines[at + 1] ?? "") === 0) words.push(lines[++at]!);
      fitted.push(...wrapped(wordsOf(words), columns));
    }
  }
  return fitted.join("\n");
}

/** How far in a line begins. Undefined for one without text. */
function indentOf(line: string): number | undefined {
  const text = line.trimStart();
  return text === "" ? undefined : line.length - text.length;
}

/**
 * Start of a table's second column in a line: after at least two spaces, or at the start of the line, if the name was
 * too long and has its own line. Undefined for a line outside a table.
 */
function meaningStart(line: string): number | undefined {
  const indent = indentOf(line) ?? 0;
  if (indent === 0) return undefined;
  if (indent >= MEANING_COLUMN) return indent;
  const gap = line.indexOf("  ", indent);
  const name = line.slice(indent, gap);
  const isName = name.startsWith("-") || name.split(" ").length <= MAX_NAME_WORDS;
  if (gap < 0 || !isName || line.slice(gap).trim() === "") return undefined;
  return gap + indentOf(line.slice(gap))!;
}

/** A line that is too long continues on the next one, as in a shell. */
function example(line: string, columns: number): string[] {
  if (line.length <= columns) return [line];
  const indent = " ".repeat(indentOf(line) ?? 0);
  const room = columns - " \\".length;
  const lines = wrapped(joinQuoted(wordsOf([line])), room, indent, indent + CONTINUED_INDENT);
  return lines.map((each, index) => (index < lines.length - 1 ? `${each} \\` : each));
}

function wordsOf(lines: readonly string[]): string[] {
  return lines
    .join(" ")
    .split(" ")
    .filter((word) => word !== "");
}

/** Words in quotes are one: a shell would not undo a break between them. */
function joinQuoted(words: readonly string[]): string[] {
  const joined: string[] = [];
  let isOpen = false;
  for (const word of words) {
    if (isOpen) joined.push(`${joined.pop()} ${word}`);
    else joined.push(word);
    if (word.split("'").length % 2 === 0) isOpen = !isOpen;
  }
  return joined;
}

function wrapped(words: readonly string[], columns: number, first = "", rest = ""): string[] {
  const lines: string[] = [];
  let line = first;
  let isEmpty = true;
  for (const word of words) {
    if (!isEmpty && line.length + 1 + word.length > columns) {
      lines.push(line);
      line = rest;
      isEmpty = true;
    }
    line += isEmpty ? word : ` ${word}`;
    isEmpty = false;
  }
  return [...lines, line];
}
