/** A row as it stands in its file. */
export interface RawRow {
  /** Cells by the names of their columns. */
  readonly values: Readonly<Record<string, string>>;
  /** Line at which the row ends; the first is 1. */
  readonly line: number;
  /** The row as JSON, if the file has it so. */
  readonly json?: string;
}

/** Cells by name. The object has no other properties, so that inherited ones are never mistaken for columns. */
export function cellsOf(entries: Iterable<readonly [name: string, cell: string]>): Record<string, string> {
  const cells = Object.create(null) as Record<string, string>;
  for (const [name, cell] of entries) cells[name] = cell;
  return cells;
}

/** Reads the rows of one format from the bytes of a file. */
export interface RowReader {
  /** Column names; those of JSON Lines are complete when all rows have been read. */
  readonly columns: readonly string[];
  read(bytes: AsyncIterable<Buffer>): AsyncIterable<RawRow>;
}
