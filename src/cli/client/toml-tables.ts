const BLANK_OR_COMMENT = /^\s*(?:#|$)/;

/** A table in the text of a TOML file. Headers are written without spaces and quotes, such as `[[token]]`. */
export interface TableInText {
  readonly header: string;
  /** Of several with the same header, this one. */
  readonly index: number;
  /** Beginnings of headers of tables inside it, which belong to it. */
  readonly inside?: readonly string[];
}

/** The text without a table. Comments stay, including those above it. No parser is involved: check the result. */
export function withoutTable(text: string, table: TableInText): string {
  const lines = text.split("\n");
  const { header, end } = linesOfTable(lines, table);
  // One of two empty lines that would meet.
  const isGap = lines[header - 1]?.trim() === "" && (lines[end] ?? "").trim() === "";
  return [...lines.slice(0, isGap ? header - 1 : header), ...lines.slice(end)].join("\n");
}

/** The lines of a table: from its header to the next one, without the comments above that. */
export function linesOfTable(
  lines: readonly string[],
  { header, index, inside = [] }: TableInText,
): { header: number; end: number } {
  const headers = lines.map(headerOf);
  const start = headers.flatMap((each, at) => (each === header ? [at] : []))[index] ?? lines.length;
  const next = headers.findIndex(
    (each, at) => at > start && each !== undefined && !inside.some((beginning) => each.startsWith(beginning)),
  );
  let end = next < 0 ? lines.length : next;
  while (end > start + 1 && BLANK_OR_COMMENT.test(lines[end - 1]!)) end -= 1;
  return { header: start, end };
}

/** Undefined for a line that is not a header. */
function headerOf(line: string): string | undefined {
  const text = line.split("#", 1)[0]!.replaceAll(/[\s"']/g, "");
  return text.startsWith("[") ? text : undefined;
}
