import { print } from "../../shared/standard-streams.ts";
import { stdoutColors } from "./colors.ts";
import { printable } from "./printable.ts";
import { fit, pad, terminalWidth, widthOf } from "./width.ts";

/** One column of a table. */
export interface Column<T> {
  /** If no column has a title, the table has no header. */
  readonly title?: string;
  readonly value: (row: T) => string;
  readonly align?: "left" | "right";
  /** Colours the padded text. */
  readonly style?: (text: string, row: T) => string;
}

interface TableOptions {
  /** Columns of the terminal. The last column is cut to fit. Default: as wide as it gets. */
  readonly width?: number | undefined;
  /** Colours the padded titles. */
  readonly titleStyle?: (text: string) => string;
}

const SEPARATOR = "  ";
/** The last column keeps at least this much, whatever the terminal's width. */
const MIN_LAST_COLUMNS = 8;

/** Prints a table with titles, as wide as the terminal. */
export function printTable<T>(rows: readonly T[], columns: readonly Column<T>[]): Promise<void> {
  return print(table(rows, columns, { width: terminalWidth(), titleStyle: stdoutColors().bold }));
}

/** Lays out a table, one line per row, without spaces at the end of lines. Values are made printable. */
export function table<T>(
  rows: readonly T[],
  columns: readonly Column<T>[],
  options: TableOptions = {},
): string {
  const cells = rows.map((row) => columns.map(({ value }) => printable(value(row))));
  const widths = columns.map(({ title = "" }, index) =>
    cells.reduce((width, line) => Math.max(width, widthOf(line[index]!)), widthOf(title)),
  );
  const last = columns.length - 1;
  if (options.width !== undefined) {
    const before = widths.slice(0, last).reduce((sum, width) => sum + width + SEPARATOR.length, 0);
    widths[last] = Math.min(widths[last]!, Math.max(MIN_LAST_COLUMNS, options.width - before));
  }
  const line = (texts: readonly string[], style: (text: string, index: number) => string): string => {
    const laid = texts.map((text, index) => {
      const fitted = fit(text, widths[index]!);
      const { align } = columns[index]!;
      const isTrailing = index === last && align !== "right";
      return style(isTrailing ? fitted : pad(fitted, widths[index]!, align), index);
    });
    return `${laid.join(SEPARATOR).trimEnd()}\n`;
  };
  const { titleStyle = (text: string) => text } = options;
  const titles = columns.map(({ title = "" }) => title);
  const head = titles.every((title) => title === "") ? "" : line(titles, titleStyle);
  const body = cells.map((texts, row) =>
    line(texts, (text, index) => columns[index]!.style?.(text, rows[row]!) ?? text),
  );
  return head + body.join("");
}
