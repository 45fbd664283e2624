import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { ExecError, UsageError } from "../../base/errors.ts";
import type { RowItem } from "../engine/row.ts";
import { CsvRows } from "./csv-rows.ts";
import { JsonLineRows } from "./json-line-rows.ts";
import type { RawRow, RowReader } from "./raw-row.ts";
import { SeenIds } from "./seen-ids.ts";
import { Utf8Check } from "./utf8-check.ts";

const MAX_ID_CHARACTERS = 1_024;
const READ_BYTES = 256 * 1024;

/** Format of a file with rows. */
export interface RowsFileOptions {
  /** Default: from the name: `.jsonl`, `.ndjson` and `.json` are JSON Lines, everything else is CSV. */
  readonly format?: "csv" | "jsonl";
  /**
   * For a CSV file. Default: a tab for `.tsv`, otherwise the most frequent in the first line of `,`, `;`, a tab and
   * `|`.
   */
  readonly delimiter?: string;
  /** The column with the ids of the rows. Default: rows are called `row-1`, `row-2`, … */
  readonly idColumn?: string;
}

/** Describes what is wrong with a row; undefined if it is valid. */
export type CheckRow = (item: RowItem) => string | undefined;

/** A file with rows that has been read once, and can be read again as long as it does not change. */
export class RowsFile {
  readonly path: string;
  /** Column names. Those of JSON Lines are the members of all objects. */
  readonly columns: readonly string[];
  /** Number of rows. */
  readonly count: number;
  /** Digest of the contents. */
  readonly sha256: string;
  readonly #options: RowsFileOptions;
  readonly #stamp: string;

  private constructor(
    path: string,
    options: RowsFileOptions,
    { columns, count, sha256, stamp }: Pick<RowsFile, "columns" | "count" | "sha256"> & { stamp: string },
  ) {
    this.path = path;
    this.columns = columns;
    this.count = count;
    this.sha256 = sha256;
    this.#options = options;
    this.#stamp = stamp;
  }

  /**
   * Reads a whole file, and throws a UsageError with one line for the first thing that is wrong with it, or the reason of
   * the signal.
   */
  static async open(
    path: string,
    options: RowsFileOptions = {},
    check?: (columns: readonly string[]) => CheckRow,
    signal?: AbortSignal,
  ): Promise<RowsFile> {
    if (path === "-") throw new UsageError("rows are read more than once, so they need a file, not stdin");
    const stamp = await stampOf(path);
    const hash = createHash("sha256");
    const reader = readerFor(path, options);
    const ids = new SeenIds();
    let count = 0;
    let checkRow: CheckRow | undefined;
    for await (const raw of reader.read(checkedBytes(path, (chunk) => hash.update(chunk)))) {
      signal?.throwIfAborted();
      if (count === 0) checkIdColumn(path, reader.columns, options);
      const item = itemOf(raw, count, options);
      checkId(path, item, raw, options);
      if (item.sourceId !== undefined && !ids.add(item.id)) await reportTwice(path, options, item, raw);
      // The columns of JSON Lines become known one by one: then the row itself says what is missing.
      checkRow ??= check?.(reader instanceof JsonLineRows ? Object.keys(raw.values) : reader.columns);
      const fault = checkRow?.(item);
      if (fault !== undefined) throw new UsageError(`${path}, line ${raw.line}: row ${count + 1}: ${fault}`);
      count += 1;
    }
    if (count === 0) {
      checkIdColumn(path, reader.columns, options);
      check?.(reader.columns);
    }
    if ((await stampOf(path)) !== stamp) throw changed(path);
    return new RowsFile(path, options, { columns: reader.columns, count, sha256: hash.digest("hex"), stamp });
  }

  /** Reads the rows again, one after the other. */
  async *rows(): AsyncGenerator<RowItem> {
    await this.#checkUnchanged();
    const stream = createReadStream(this.path, { highWaterMark: READ_BYTES });
    let index = 0;
    for await (const raw of readerFor(this.path, this.#options).read(stream)) {
      yield itemOf(raw, index, this.#options);
      index += 1;
    }
    await this.#checkUnchanged();
  }

  async #checkUnchanged(): Promise<void> {
    if ((await stampOf(this.path)) !== this.#stamp) throw changed(this.path);
  }
}

function readerFor(path: string, { format, delimiter }: RowsFileOptions): RowReader {
  const isJson = format === undefined ? /\.(?:jsonl|ndjson|json)$/i.test(path) : format === "jsonl";
  if (isJson) return new JsonLineRows(path);
  return new CsvRows(path, delimiter ?? (/\.tsv$/i.test(path) ? "\t" : undefined));
}

function itemOf(raw: RawRow, index: number, { idColumn }: RowsFileOptions): RowItem {
  const { values, json } = raw;
  const more = json === undefined ? {} : { json };
  if (idColumn === undefined) return { index, id: `row-${index + 1}`, values, ...more };
  const id = values[idColumn] ?? "";
  return { index, id, sourceId: id, values, ...more };
}

async function* checkedBytes(path: string, seen: (chunk: Buffer) => void): AsyncGenerator<Buffer> {
  const check = new Utf8Check(path);
  for await (const chunk of createReadStream(path, { highWaterMark: READ_BYTES }) as AsyncIterable<Buffer>) {
    check.push(chunk);
    seen(chunk);
    yield chunk;
  }
  check.end();
}

function checkIdColumn(path: string, columns: readonly string[], { idColumn }: RowsFileOptions): void {
  if (idColumn !== undefined && !columns.includes(idColumn))
    throw new UsageError(`${path} has no column '${idColumn}' for ids; ${columnList(columns)}`);
}

function checkId(
  path: string,
  { id, index }: RowItem,
  { line }: RawRow,
  { idColumn }: RowsFileOptions,
): void {
  const where = `${path}, line ${line}: row ${index + 1}`;
  if (id.trim() === "") throw new UsageError(`${where} has no id in the column '${idColumn}'`);
  if (id.length > MAX_ID_CHARACTERS || /\p{Cc}/u.test(id))
    throw new UsageError(`${where}: its id has line breaks, or more than ${MAX_ID_CHARACTERS} characters`);
}

/** Finds the row that has the same id. */
async function reportTwice(
  path: string,
  options: RowsFileOptions,
  twice: RowItem,
  { line }: RawRow,
): Promise<void> {
  let index = 0;
  const stream = createReadStream(path, { highWaterMark: READ_BYTES });
  for await (const raw of readerFor(path, options).read(stream)) {
    if (index === twice.index) return;
    if (itemOf(raw, index, options).id === twice.id)
      throw new UsageError(
        `${path}, line ${line}: row ${twice.index + 1} has the id '${twice.id}', which row ${index + 1} has, too`,
      );
    index += 1;
  }
}

/** The names of columns, for messages. */
export function columnList(columns: readonly string[]): string {
  const [MAX_NAMED, named] = [20, columns.map((name) => `'${name}'`)];
  if (columns.length === 0) return "it has no columns";
  const more = columns.length - MAX_NAMED;
  return `it has ${named.slice(0, MAX_NAMED).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

async function stampOf(path: string): Promise<string> {
  try {
    const stats = await stat(path);
    if (!stats.isFile())
      throw new UsageError(
        `${path} is not a regular file; rows are read more than once, so they must be in one`,
      );
    return [stats.dev, stats.ino, stats.size, stats.mtimeMs].join(" ");
  } catch (error) {
    if (error instanceof ExecError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(
      code === "ENOENT" ? `there is no file ${path}` : `cannot read ${path}: ${code ?? String(error)}`,
    );
  }
}

function changed(path: string): ExecError {
  return new ExecError("INVALID_INPUT", `${path} changed while its rows were being read`);
}
