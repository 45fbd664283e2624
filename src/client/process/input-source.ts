import { UsageError } from "../../base/errors.ts";

/** A piece of input. */
export type InputChunk = string | Uint8Array;

/** Where input comes from: a Node `Readable`, a web `ReadableStream`, or anything that can be iterated. */
export type InputSource = AsyncIterable<InputChunk> | Iterable<InputChunk> | ReadableStream<InputChunk>;

/** One reader of a source, which can be given up at any time. */
export interface OpenSource {
  /** The next piece, or undefined at the end. */
  next(): Promise<InputChunk | undefined>;
  /** Nobody reads on. */
  cancel(): void;
}

/** True for what is not input itself, but gives it. */
export function isInputSource(input: string | Uint8Array | InputSource): input is InputSource {
  return typeof input !== "string" && !(input instanceof Uint8Array);
}

export function openSource(source: InputSource): OpenSource {
  if (isReadableStream(source)) return fromReader(source.getReader());
  if (Symbol.asyncIterator in source) return fromIterator(source[Symbol.asyncIterator](), source);
  if (Symbol.iterator in source) return fromIterator(source[Symbol.iterator](), source);
  throw new UsageError("input must be text, bytes, a stream or something to iterate over");
}

/** Not every browser can iterate over one. */
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
      // The iterator of a Node stream that waits for data does not hear of `return` before there is some.
      if ("destroy" in source && typeof source.destroy === "function") source.destroy();
      else void Promise.resolve(iterator.return?.()).catch(() => {});
    },
  };
}

function checked(chunk: unknown): InputChunk {
  if (typeof chunk === "string" || chunk instanceof Uint8Array) return chunk;
  throw new UsageError(`input must come as text or bytes, not as ${chunk === null ? "null" : typeof chunk}`);
}
