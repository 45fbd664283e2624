/** Content codings that every platform can decode. */
type Coding = "gzip" | "deflate";

/** Not an object: names come from servers, and every object has a `constructor`. */
const CODINGS: ReadonlyMap<string, Coding> = new Map([
  ["gzip", "gzip"],
  ["x-gzip", "gzip"],
  ["deflate", "deflate"],
]);
/** Legitimate servers never apply more. */
const MAX_CODINGS = 5;

/** Decodes a body's `content-encoding`. A body with an unknown coding stays unchanged. */
export function decodeContent(
  source: AsyncIterable<Uint8Array>,
  contentEncoding: string | null,
): AsyncIterable<Uint8Array> {
  const names = (contentEncoding ?? "")
    .split(",")
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== "" && name !== "identity");
  const codings = names.map((name) => CODINGS.get(name));
  if (codings.length > MAX_CODINGS || codings.includes(undefined)) return source;
  // The last coding named was applied last.
  return codings.reduceRight((body, coding) => (coding ? decompress(body, coding) : body), source);
}

async function* decompress(
  source: AsyncIterable<Uint8Array>,
  coding: Coding,
): AsyncGenerator<Uint8Array, void, undefined> {
  const iterator = source[Symbol.asyncIterator]();
  const first = await iterator.next();
  // An empty body is not compressed.
  if (first.done) return;
  const { readable, writable } = new DecompressionStream(formatOf(coding, first.value));
  // The platform's types refuse bytes that might be shared between threads; bytes from a message never are.
  const writer = writable.getWriter() as unknown as WritableStreamDefaultWriter<Uint8Array>;
  const reader = readable.getReader();
  for (const { closed } of [writer, reader]) closed.catch(() => {}); // Reads and writes report it.
  const sourceFailures: unknown[] = [];
  void feed(iterator, first.value, writer, (error) => sourceFailures.push(error));
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } catch (error) {
    if (sourceFailures.length > 0) throw sourceFailures[0];
    throw new TypeError(`the body does not match its content-encoding: ${(error as Error).message}`, {
      cause: error,
    });
  } finally {
    void iterator.return?.();
    reader.cancel().catch(() => {}); // It has already failed.
  }
}

/** Passes the source on piece by piece. The reader reports failures of the writer. */
async function feed(
  iterator: AsyncIterator<Uint8Array>,
  first: Uint8Array,
  writer: WritableStreamDefaultWriter<Uint8Array>,
  onSourceFailure: (error: unknown) => void,
): Promise<void> {
  let step: IteratorResult<Uint8Array> = { done: false, value: first };
  while (!step.done) {
    try {
      await writer.write(step.value);
    } catch {
      return;
    }
    try {
      step = await iterator.next();
    } catch (error) {
      onSourceFailure(error);
      await writer.abort(error).catch(() => {}); // It has already failed.
      return;
    }
  }
  await writer.close().catch(() => {}); // A body that is cut short; the reader reports it.
}

/** "deflate" means a zlib header, but some servers omit it; the first byte shows which. */
function formatOf(coding: Coding, first: Uint8Array): "gzip" | "deflate" | "deflate-raw" {
  if (coding === "gzip") return "gzip";
  return (first[0]! & 0x0f) === 8 ? "deflate" : "deflate-raw";
}
