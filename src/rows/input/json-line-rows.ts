import { UsageError } from "../../base/errors.ts";
import { cellsOf, type RawRow, type RowReader } from "./raw-row.ts";

const NEWLINE = 0x0a;
const MAX_LINE_BYTES = 16 * 1024 * 1024;
const MAX_COLUMNS = 10_000;

/** The rows of a file of JSON objects, one on each line. Their members are the columns. */
export class JsonLineRows implements RowReader {
  readonly #path: string;
  readonly #columns = new Set<string>();

  constructor(path: string) {
    this.#path = path;
  }

  get columns(): readonly string[] {
    return [...this.#columns];
  }

  async *read(bytes: AsyncIterable<Buffer>): AsyncGenerator<RawRow> {
    let number = 0;
    for await (const line of splitLines(bytes, (at) => this.#fault(at, "is longer than 16 MiB"))) {
      number += 1;
      const text = (number === 1 ? line.replace(/^\uFEFF/, "") : line).trim();
      if (text !== "") yield { values: this.#values(text, number), line: number, json: text };
    }
  }

  #values(text: string, line: number): Record<string, string> {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      throw this.#fault(line, "is not JSON");
    }
    if (typeof value !== "object" || value === null || Array.isArray(value))
      throw this.#fault(line, "is not a JSON object");
    const members = Object.entries(value);
    for (const [name] of members) this.#columns.add(name);
    if (this.#columns.size > MAX_COLUMNS)
      throw new UsageError(`${this.#path}: its objects have more than ${MAX_COLUMNS} different members`);
    return cellsOf(members.map(([name, member]) => [name, this.#asText(member, name, line)]));
  }

  #asText(value: unknown, name: string, line: number): string {
    if (value === null) return "";
    const text = typeof value === "string" ? value : JSON.stringify(value);
    if (text.includes("\0"))
      throw this.#fault(line, `has a NUL in '${name}', which cannot be passed to a program`);
    return text;
  }

  #fault(line: number, what: string): UsageError {
    return new UsageError(`${this.#path}: line ${line} ${what}`);
  }
}

/** The lines of a file as text, without their ends. */
async function* splitLines(
  bytes: AsyncIterable<Buffer>,
  tooLong: (line: number) => UsageError,
): AsyncGenerator<string> {
  let parts: Buffer[] = [];
  let length = 0;
  let line = 1;
  for await (const chunk of bytes) {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
      parts.push(chunk.subarray(from, at));
      yield Buffer.concat(parts).toString();
      parts = [];
      length = 0;
      line += 1;
      from = at + 1;
    }
    if (from === chunk.length) continue;
    parts.push(chunk.subarray(from));
    length += chunk.length - from;
    if (length > MAX_LINE_BYTES) throw tooLong(line);
  }
  if (length > 0) yield Buffer.concat(parts).toString();
}
