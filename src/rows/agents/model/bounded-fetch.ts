import { after, formatDuration } from "../../../base/duration.ts";
import { ownOriginFetch } from "./own-origin-fetch.ts";

/** What one answer of an endpoint may be. */
export interface AnswerLimits {
  readonly maxBytes: number;
  /** For one event of a stream. The `openai` package searches an unfinished event from its start with every chunk. */
  readonly maxEventBytes: number;
  /** How long the endpoint may be silent. */
  readonly idleMs: number;
}

/** What ends an event. */
const BLANK_LINES = ["\n\n", "\r\n\r\n", "\r\r"];

/** The endpoint sent too much, or nothing for too long. */
export class AnswerLimitError extends Error {
  override readonly name = "AnswerLimitError";
}

/** `fetch` whose answers end with an AnswerLimitError where they exceed these limits. */
export function boundedFetch({ idleMs, ...sizes }: AnswerLimits): typeof globalThis.fetch {
  return async (input, init) => {
    const silent = () => new AnswerLimitError(`the endpoint was silent for ${formatDuration(idleMs)}`);
    const limit = new AbortController();
    const outer = init?.signal ?? undefined;
    const abort = (): void => limit.abort(outer?.reason);
    if (outer?.aborted === true) abort();
    else outer?.addEventListener("abort", abort, { once: true });
    let cancel = after(idleMs, () => limit.abort(silent()));
    const done = (): void => {
      cancel();
      outer?.removeEventListener("abort", abort);
    };
    const alive = (): void => {
      cancel();
      cancel = after(idleMs, () => limit.abort(silent()));
    };
    try {
      const response = await ownOriginFetch(input, { ...init, signal: limit.signal });
      alive();
      if (response.body === null) {
        done();
        return response;
      }
      const { status, statusText, headers } = response;
      return new Response(bounded(response.body, { ...sizes, alive, done }), { status, statusText, headers });
    } catch (error) {
      done();
      throw error;
    }
  };
}

function bounded(
  body: ReadableStream<Uint8Array>,
  {
    maxBytes,
    maxEventBytes,
    alive,
    done,
  }: Omit<AnswerLimits, "idleMs"> & { readonly alive: () => void; readonly done: () => void },
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let received = 0;
  let eventStart = 0;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { value } = await reader.read();
          if (value === undefined) {
            done();
            controller.close();
            return;
          }
          alive();
          const blankLine = Math.max(
            ...BLANK_LINES.map((line) =>
              Buffer.from(value.buffer, value.byteOffset, value.length).lastIndexOf(line),
            ),
          );
          if (blankLine >= 0) eventStart = received + blankLine;
          received += value.length;
          if (received - eventStart > maxEventBytes)
            throw new AnswerLimitError(
              `an event of the endpoint's answer is longer than ${maxEventBytes} bytes`,
            );
          if (received > maxBytes)
            throw new AnswerLimitError(`the endpoint's answer is longer than ${maxBytes} bytes`);
          controller.enqueue(value);
        } catch (error) {
          done();
          controller.error(error);
          await reader.cancel().catch(() => {});
        }
      },
      async cancel(reason) {
        done();
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}
