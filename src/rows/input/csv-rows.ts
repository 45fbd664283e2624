import { Readable } from "node:stream";
import { CsvError, parse } from "csv-parse";
import { UsageError } from "../../base/errors.ts";
import { cellsOf, type RawRow, type RowReader } from "./raw-row.ts";

/** A quote that is never closed must not read the whole file into memory. */
const MAX_ROW_BYTES = 16 * 1024 * 1024;
const DELIMITERS = [",", ";", "\t", "|"];

/** The rows of a CSV file, whose first row contains the column names. */
export class CsvRows implements RowReader {
  columns: readonly string[] = [];
  readonly #path: string;
  readonly #delimiter: string | undefined;

  constructor(path: string, delimiter: string | undefined) {
    this.#path = path;
    this.#delimiter = delimiter;
  }

  async *read(bytes: AsyncIterable<Buffer>): AsyncGenerator<RawRow> {
    const iterator = bytes[Symbol.asyncIterator]();
    try {
      const first = await iterator.next();
      if (first.done === true) throw this.#noHeader();
      const delimiter = this.#delimiter ?? detectDelimiter(first.value.toString());
      const parser = parse({
        delimiter,
        bom: true,
        relax_column_count: true,
        // A quote within a cell that does not begin with one is text.
        relax_quotes: true,
        skip_empty_lines: true,
        max_record_size: MAX_ROW_BYTES,
        on_record: (cells, { lines }) => Object.assign(cells, { line: lines }),
      });
      const source = Readable.from(joined(first.value, iterator));
      source.on("error", (error) => parser.destroy(error));
      source.pipe(parser);
      yield* this.#rows(parser as AsyncIterable<Line>);
    } catch (error) {
      throw error instanceof CsvError ? this.#describe(error) : error;
    } finally {
      await iterator.return?.();
    }
  }

  async *#rows(lines: AsyncIterable<Line>): AsyncGenerator<RawRow> {
    let columns: readonly string[] | undefined;
    let count = 0;
    for await (const cells of lines) {
      if (columns === undefined) {
        columns = [...cells];
        this.#checkHeader(columns);
        this.columns = columns;
        continue;
      }
      count += 1;
      if (cells.length !== columns.length)
        throw new UsageError(
          `${this.#path}, line ${cells.line}: row ${count} has ${cellCount(cells.length)}, but the header has ${columns.length}`,
        );
      yield {
        values: cellsOf(columns.map((name, index) => [name, cells[index]!])),
        line: cells.line,
      };
    }
    if (columns === undefined) throw this.#noHeader();
  }

  #checkHeader(columns: readonly string[]): void {
    const seen = new Set<string>();
    for (const [index, name] of columns.entries()) {
      if (name === "") throw new UsageError(`${this.#path}: column ${index + 1} has no name in the header`);
      if (seen.has(name)) throw new UsageError(`${this.#path}: two columns are called '${name}'`);
      seen.add(name);
    }
  }

  #noHeader(): UsageError {
    return new UsageError(`${this.#path} is empty: it needs a header with the names of the columns`);
  }

  #describe(error: CsvError): UsageError {
    const { lines } = error as { lines?: unknown };
    const where = typeof lines === "number" ? `${this.#path}, line ${lines}` : this.#path;
    switch (error.code) {
      case "CSV_QUOTE_NOT_CLOSED":
        return new UsageError(`${where}: a quote is not closed`);
      case "CSV_MAX_RECORD_SIZE":
        return new UsageError(`${where}: a row is larger than 16 MiB; is a quote not closed?`);
      default:
        return new UsageError(`${where}: ${error.message}`);
    }
  }
}

/** The cells of a row, and the line at which it ends. */
type Line = string[] & { readonly line: number };

async function* joined(first: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
}

function cellCount(count: number): string {
  return count === 1 ? "1 cell" : `${count} cells`;
}

/** The delimiter of a file, from its first line that is not blank: the candidate that is there most often, outside of quotes. */
function detectDelimiter(beginning: string): string {
  const counts = new Map(DELIMITERS.map((candidate) => [candidate, 0]));
  let isQuoted = false;
  for (const character of beginning.replace(/^\uFEFF?[\r\n]+/, "")) {
    if (character === '"') isQuoted = !isQuoted;
    else if (isQuoted) continue;
    else if (character === "\n" || character === "\r") break;
    else if (counts.has(character)) counts.set(character, counts.get(character)! + 1);
  }
  const [best, count] = [...counts].reduce((one, other) => (other[1] > one[1] ? other : one));
  return count === 0 ? "," : best;
}
