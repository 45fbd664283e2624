import { createReadStream, createWriteStream, type WriteStream } from "node:fs";
import { open } from "node:fs/promises";
import { createInterface } from "node:readline";
import { once } from "node:events";
import { describeFileError } from "../../shared/describe-file-error.ts";
import { Failure } from "../outcome/failure.ts";
import {
  type CastEvent,
  type CastHeader,
  formatEvent,
  formatHeader,
  parseEvent,
  parseHeader,
} from "./asciicast.ts";

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
  if (first.done === true) throw new Failure(`${path} is empty, and no recording`);
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
