import { createReadStream, createWriteStream, type WriteStream } from "node:fs";
import { open } from "node:fs/promises";
import { createInterface } from "node:readline";
import { once } from "node:events";
import { describeFileError, Failure } from "../../shared/failure.ts";

/** First line of a recording. */
export interface CastHeader {
  readonly version: 2 | 3;
  readonly cols: number;
  readonly rows: number;
}

/** An event of a recorded terminal: output, or another size (`80x24`). Other kinds exist. */
export interface CastEvent {
  /** Seconds since the beginning. */
  readonly time: number;
  readonly kind: "o" | "r" | (string & {});
  readonly data: string;
}

const DECIMALS = 6;

/** Version 2, which every player reads. */
export function formatHeader({ cols, rows }: CastHeader): string {
  const timestamp = Math.floor(Date.now() / 1_000);
  return `${JSON.stringify({ version: 2, width: cols, height: rows, timestamp })}\n`;
}

export function formatEvent({ time, kind, data }: CastEvent): string {
  return `${JSON.stringify([Number(time.toFixed(DECIMALS)), kind, data])}\n`;
}

/** Undefined if the line is not the header of a known version. */
export function parseHeader(line: string): CastHeader | undefined {
  const value = parse(line);
  if (typeof value !== "object" || value === null) return undefined;
  const { version, width, height, term } = value as Record<string, unknown>;
  if (version === 2) return sized(2, width, height);
  if (version !== 3 || typeof term !== "object" || term === null) return undefined;
  const { cols, rows } = term as Record<string, unknown>;
  return sized(3, cols, rows);
}

/** Undefined if the line is not an event. */
export function parseEvent(line: string): CastEvent | undefined {
  const value = parse(line);
  if (!Array.isArray(value)) return undefined;
  const [time, kind, data] = value as unknown[];
  if (typeof time !== "number" || time < 0 || typeof kind !== "string" || typeof data !== "string")
    return undefined;
  return { time, kind, data };
}

function sized(version: 2 | 3, cols: unknown, rows: unknown): CastHeader | undefined {
  return isSize(cols) && isSize(rows) ? { version, cols, rows } : undefined;
}

function isSize(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) > 0 && (value as number) < 65_536;
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** Writes a recording, line by line, so that it is complete up to the moment of any failure. */
export class CastWriter {
  /** Refuses to replace a file unless `force` is set. */
  static async create(path: string, header: CastHeader, { force }: { force: boolean }): Promise<CastWriter> {
    try {
      const file = await open(path, force ? "w" : "wx", 0o600);
      const writer = new CastWriter(path, createWriteStream(path, { fd: file }));
      await writer.#write(formatHeader(header));
      return writer;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST")
        throw new Failure(`${path} exists; --force replaces it`);
      throw error instanceof Failure ? error : cannot("write", path, error);
    }
  }

  readonly #path: string;
  readonly #stream: WriteStream;
  readonly #begun = performance.now();
  #error: unknown;

  private constructor(path: string, stream: WriteStream) {
    this.#path = path;
    this.#stream = stream;
    stream.on("error", (error) => {
      this.#error = error;
    });
  }

  /** Resolves when there is room for more. */
  async event(kind: CastEvent["kind"], data: string): Promise<void> {
    await this.#write(formatEvent({ time: (performance.now() - this.#begun) / 1_000, kind, data }));
  }

  async end(): Promise<void> {
    this.#stream.end();
    if (this.#error === undefined) await once(this.#stream, "close");
    if (this.#error !== undefined) throw cannot("write", this.#path, this.#error);
  }

  async #write(line: string): Promise<void> {
    if (this.#error === undefined && !this.#stream.write(line))
      await once(this.#stream, "drain").catch(() => {});
    if (this.#error !== undefined) throw cannot("write", this.#path, this.#error);
  }
}

/** Reads a recording. The first line is its header. */
export async function readCast(
  path: string,
): Promise<{ header: CastHeader; events: AsyncGenerator<CastEvent> }> {
  const input = path === "-" ? process.stdin : createReadStream(path);
  const lines = numberedLines(path, input);
  const first = await lines.next();
  if (first.done === true) throw new Failure(`${path} is empty; it is not a recording`);
  const header = parseHeader(first.value.line);
  if (header === undefined) throw new Failure(`${path} is not an asciicast (version 2 or 3)`);
  return { header, events: eventsOf(path, header, lines) };
}

async function* numberedLines(path: string, input: NodeJS.ReadableStream) {
  let number = 0;
  try {
    for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      number += 1;
      yield { line, number };
    }
  } catch (error) {
    throw cannot("read", path, error);
  }
}

async function* eventsOf(
  path: string,
  { version }: CastHeader,
  lines: AsyncIterable<{ line: string; number: number }>,
): AsyncGenerator<CastEvent> {
  let last = 0;
  for await (const { line, number } of lines) {
    if (line === "" || line.startsWith("#")) continue;
    const event = parseEvent(line);
    if (event === undefined) throw new Failure(`line ${number} of ${path} is not an event of a recording`);
    // Version 3 counts from the previous event.
    last = version === 3 ? last + event.time : Math.max(last, event.time);
    yield { ...event, time: last };
  }
}

function cannot(what: "read" | "write", path: string, error: unknown): Failure {
  return new Failure(`cannot ${what} ${path}: ${describeFileError(error)}`);
}
