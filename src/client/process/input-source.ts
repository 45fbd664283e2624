import { UsageError } from "../../base/errors.ts";

/** A piece of input. */
export type InputChunk = string | Uint8Array;

/** A source of input: a Node `Readable`, a web `ReadableStream`, or any iterable. */
export type InputSource = AsyncIterable<InputChunk> | Iterable<InputChunk> | ReadableStream<InputChunk>;

/** One reader of a source, which can be cancelled at any time. */
export interface OpenSource {
  /** The next piece, or undefined at the end. */
  next(): Promise<InputChunk | undefined>;
  /** Stops reading. */
  cancel(): void;
}

/** True for a source of input, false for the input itself. Throws a UsageError for anything else. */
export function isInputSource(input: string | Uint8Array | InputSource): input is InputSource & object {
  if (typeof input === "string" || input instanceof Uint8Array) return false;
  if (typeof input === "object" && input !== null && ITERATION_METHODS.some((method) => method in input))
    return true;
  throw new UsageError("input must be text, bytes, a stream or an iterable");
}

/** One of these makes an object a source. */
const ITERATION_METHODS = ["getReader", Symbol.asyncIterator, Symbol.iterator];

export function openSource(source: string | Uint8Array | InputSource): OpenSource {
  if (!isInputSource(source)) return openSource([source]);
  if (isReadableStream(source)) return fromReader(source.getReader());
  if (Symbol.asyncIterator in source) return fromIterator(source[Symbol.asyncIterator](), source);
  return fromIterator(source[Symbol.iterator](), source);
}

/** Not every browser can iterate over a ReadableStream. */
function isReadableStream(source: object): source is ReadableStream<InputChunk> {
  return "getReader" in source && typeof source.getReader === "function";
}

function fromReader(reader: ReadableStreamDefaultReader<InputChunk>): OpenSource {
  return {
    next: async () => {
      const { done, value } = await reader.read();
      return done ? undefined : checked(value);
    },
    cancel: () => void reader.cancel().catch(() => {}),
  };
}

function fromIterator(
  iterator: AsyncIterator<InputChunk> | Iterator<InputChunk>,
  source: object,
): OpenSource {
  return {
    next: async () => {
      const { done, value } = await iterator.next();
      return done === true ? undefined : checked(value);
    },
    cancel: () => {
      // The iterator of a Node stream that waits for data does not notice `return` before data arrives.
      if ("destroy" in source && typeof source.destroy === "function") source.destroy();
      else void Promise.resolve(iterator.return?.()).catch(() => {});
    },
  };
}

function checked(chunk: unknown): InputChunk {
  if (typeof chunk === "string" || chunk instanceof Uint8Array) return chunk;
  throw new UsageError(`input must consist of text or bytes, not ${chunk === null ? "null" : typeof chunk}`);
}
