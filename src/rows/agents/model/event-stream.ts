import { createParser } from "eventsource-parser";
import { parseJson } from "../../../protocol/json-scan.ts";
import { AnswerError } from "./failed-request.ts";

/** Maximum sizes of an answer. */
export interface AnswerSizes {
  readonly maxBytes: number;
  /** For one event, complete or not. */
  readonly maxEventCharacters: number;
}

/** Some endpoints end a stream with this text, which is not JSON. */
const DONE = "[DONE]";

/** Reads the JSON values of a stream of server-sent events. Throws an AnswerError for anything too long or not JSON. */
export async function* readEvents(
  chunks: AsyncIterable<Uint8Array>,
  { maxBytes, maxEventCharacters }: AnswerSizes,
): AsyncGenerator {
  const complete: string[] = [];
  let isTooLong = false;
  const parser = createParser({
    maxBufferSize: maxEventCharacters,
    onEvent: ({ data }) => complete.push(data),
    onError: ({ type }) => {
      if (type === "max-buffer-size-exceeded") isTooLong = true;
    },
  });
  for await (const text of decoded(chunks, maxBytes)) {
    parser.feed(text);
    for (const data of complete.splice(0)) {
      if (data.startsWith(DONE)) return;
      yield parsed(data);
    }
    if (isTooLong)
      throw new AnswerError(
        `an event of the endpoint's answer is longer than ${maxEventCharacters} characters`,
      );
  }
}

async function* decoded(chunks: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new AnswerError(`the endpoint's answer is longer than ${maxBytes} bytes`);
    yield decoder.decode(chunk, { stream: true });
  }
  // The parser holds back a CR at the end of a chunk, which may be half of a CRLF.
  yield `${decoder.decode()}\n`;
}

function parsed(data: string): unknown {
  try {
    return parseJson(data).value;
  } catch {
    throw new AnswerError("the endpoint's answer is not JSON");
  }
}
