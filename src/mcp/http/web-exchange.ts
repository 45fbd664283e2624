import type { IncomingMessage, ServerResponse } from "node:http";

/** Time a client has to read before its answer is dropped. */
const STALL_TIMEOUT_MS = 60_000;

/** The request as the SDK wants it, without its body and its token. Aborted when the client has gone. */
export function webRequest(request: IncomingMessage, response: ServerResponse): Request {
  const { authorization: _, ...shown } = request.headersDistinct;
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(shown))
    for (const value of values) headers.append(name, value);
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  return new Request("http://localhost/mcp", { method: request.method ?? "", headers, signal: gone.signal });
}

/** Answers that clients have not read yet, all together. */
export class UnreadAnswers {
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Resolves when the client has the answer, has gone, or did not read it. */
  async send(response: ServerResponse, { status, headers, body }: Response): Promise<void> {
    // Whether the connection stays open is for Node to say.
    headers.delete("connection");
    response.writeHead(status, Object.fromEntries(headers));
    if (body === null) {
      response.end();
      return;
    }
    response.flushHeaders();
    const reader = body.getReader();
    response.once("close", () => void reader.cancel().catch(() => {}));
    for (;;) {
      const { done, value } = await reader.read();
      if (done || response.destroyed) break;
      if (!this.#write(response, value)) await drained(response);
    }
    response.end();
  }

  /** False if the client has to read first. */
  #write(response: ServerResponse, bytes: Uint8Array): boolean {
    this.#bytes += bytes.length;
    const hasRoom = response.write(bytes, () => {
      this.#bytes -= bytes.length;
    });
    if (this.#bytes > this.#maxBytes) response.destroy();
    return hasRoom;
  }
}

/** Resolves when the client has read, or has gone. One that does neither is cut off. */
async function drained(response: ServerResponse): Promise<void> {
  if (response.destroyed) return;
  const timer = setTimeout(() => response.destroy(), STALL_TIMEOUT_MS);
  await new Promise<void>((resolve) => {
    const resume = (): void => {
      response.off("drain", resume).off("close", resume);
      resolve();
    };
    response.on("drain", resume).on("close", resume);
  });
  clearTimeout(timer);
}
