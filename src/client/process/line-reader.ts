import { UsageError } from "../../base/errors.ts";
import { joinBytes } from "../../base/join-bytes.ts";
import type { OutputChunk } from "../routes/process-events.ts";
import { cutEnd } from "./utf8-boundary.ts";

const NEWLINE = 10;
const CARRIAGE_RETURN = 13;
const DEFAULT_MAX_LINE_BYTES = 1024 * 1024;
/** A piece must have room for one character. */
const MIN_LINE_BYTES = 4;

/** How to split output into lines. */
export interface LineOptions {
  /** Maximum line length. A longer line is split between characters. Default: 1 MiB. */
  readonly maxLineBytes?: number;
}

/**
 * Splits output into lines of text. A line ends with LF or CR LF, which is removed; the rest after the last one is a
 * line too.
 */
export function readLines(
  output: AsyncIterableIterator<OutputChunk>,
  { maxLineBytes = DEFAULT_MAX_LINE_BYTES }: LineOptions,
): AsyncIterableIterator<string> {
  checkLineOptions({ maxLineBytes });
  let hasLeft = false;
  const lines = splitLines(output, maxLineBytes, () => hasLeft);
  return {
    next: () => lines.next(),
    // A generator would finish only after its pending step, and not at all before its first one.
    async return() {
      hasLeft = true;
      await output.return?.();
      return lines.return();
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/** Throws unless the options are valid. */
export function checkLineOptions({ maxLineBytes = DEFAULT_MAX_LINE_BYTES }: LineOptions): void {
  if (!Number.isSafeInteger(maxLineBytes) || maxLineBytes < MIN_LINE_BYTES)
    throw new UsageError(
      `maxLineBytes must be a whole number of at least ${MIN_LINE_BYTES}, not ${maxLineBytes}`,
    );
}

async function* splitLines(
  output: AsyncIterableIterator<OutputChunk>,
  maxLineBytes: number,
  hasLeft: () => boolean,
): AsyncGenerator<string, void, void> {
  const splitters = new Map<OutputChunk["stream"], LineSplitter>();
  for await (const { stream, bytes } of output) {
    let splitter = splitters.get(stream);
    if (splitter === undefined) {
      splitter = new LineSplitter(maxLineBytes);
      splitters.set(stream, splitter);
    }
    yield* splitter.push(bytes);
  }
  if (!hasLeft()) for (const splitter of splitters.values()) yield* splitter.flush();
}

/** The lines of one stream, whose chunks end anywhere. */
class LineSplitter {
  readonly #maxBytes: number;
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  /** Chunks of an unfinished line. */
  #parts: Uint8Array[] = [];
  #partBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  *push(bytes: Uint8Array): Generator<string, void, void> {
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      this.#add(bytes.subarray(start, end));
      start = end + 1;
      yield* this.#pieces();
      yield this.#line(this.#take());
    }
    this.#add(bytes.subarray(start));
    yield* this.#pieces();
  }

  *flush(): Generator<string, void, void> {
    yield* this.#pieces();
    if (this.#partBytes > 0) yield this.#line(this.#take());
  }

  #add(part: Uint8Array): void {
    if (part.length === 0) return;
    this.#parts.push(part);
    this.#partBytes += part.length;
  }

  /** Pieces from the start of a line that is too long. A CR at its end does not count: an LF may follow. */
  *#pieces(): Generator<string, void, void> {
    if (this.#partBytes <= this.#maxBytes) return;
    let rest = this.#take();
    const endsWithReturn = rest.at(-1) === CARRIAGE_RETURN ? 1 : 0;
    while (rest.length - endsWithReturn > this.#maxBytes) {
      const end = cutEnd(rest, this.#maxBytes);
      yield this.#decoder.decode(rest.subarray(0, end));
      rest = rest.subarray(end);
    }
    this.#add(rest);
  }

  #take(): Uint8Array {
    // A single part is not copied.
    const taken = this.#parts.length === 1 ? this.#parts[0]! : joinBytes(this.#parts);
    this.#parts = [];
    this.#partBytes = 0;
    return taken;
  }

  #line(bytes: Uint8Array): string {
    const end = bytes.at(-1) === CARRIAGE_RETURN ? bytes.length - 1 : bytes.length;
    return this.#decoder.decode(bytes.subarray(0, end));
  }
}
