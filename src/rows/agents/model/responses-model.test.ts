import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, describe, expect, it } from "vitest";
import { createDeferred } from "../../../base/deferred.ts";
import type { ModelTurn } from "./model.ts";
import { responsesModel, type ResponsesModelOptions } from "./responses-model.ts";

type Answer = (response: ServerResponse, request: IncomingMessage, asked: number) => unknown;

const servers: { close: () => void }[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** An endpoint, and what it was asked. */
async function serve(answer: Answer) {
  const requests: {
    readonly headers: IncomingMessage["headers"];
    readonly url?: string;
    readonly body: string;
  }[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const { headers, url = "" } = request;
      requests.push({ headers, url, body: await text(request) });
      await answer(response, request, requests.length);
    })();
  });
  servers.push({ close: () => (server.close(), server.closeAllConnections()) });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, requests };
}

const ask = (
  options: Partial<ResponsesModelOptions> & { readonly baseUrl: string },
  signal = new AbortController().signal,
): Promise<ModelTurn> =>
  responsesModel({ model: "m", retries: 0, retryDelayMs: 1, ...options }).respond({
    input: [],
    tools: [],
    mayCallTools: true,
    signal,
  });

const event = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;
const END = event({ type: "response.completed", response: { id: "r", usage: { total_tokens: 3 } } });
const begin = (response: ServerResponse) => response.writeHead(200, { "content-type": "text/event-stream" });

it("a turn is asked for with one request, and read from its stream", async () => {
  const said = { type: "message", content: [{ type: "output_text", text: "Hello." }] };
  const { baseUrl, requests } = await serve((response) =>
    begin(response).end(event({ type: "response.output_item.done", item: said }) + END),
  );
  const turn = await ask({ baseUrl: `${baseUrl}/?version=2`, apiKey: "sk-secret", reasoningEffort: "low" });
  expect(turn).toMatchObject({ end: { status: "completed" }, text: "Hello.", tokens: { total: 3 } });
  const [{ headers, url, body } = { headers: {}, url: "", body: "" }] = requests;
  expect(url).toBe("/v1/responses?version=2");
  expect(headers).toMatchObject({ authorization: "Bearer sk-secret", "content-type": "application/json" });
  expect(JSON.parse(body)).toMatchObject({
    model: "m",
    stream: true,
    store: false,
    reasoning: { effort: "low" },
  });
});

it("no key is sent if none is given", async () => {
  const { baseUrl, requests } = await serve((response) => begin(response).end(END));
  await ask({ baseUrl });
  expect(requests[0]?.headers).not.toHaveProperty("authorization");
});

describe("a request is repeated", () => {
  it("after 429, no earlier than Retry-After says", async () => {
    const times: number[] = [];
    const { baseUrl } = await serve((response, _request, asked) => {
      times.push(performance.now());
      if (asked === 1) response.writeHead(429, { "retry-after": "0.2" }).end("slow down");
      else begin(response).end(END);
    });
    expect(await ask({ baseUrl, retries: 1 })).toMatchObject({ end: { status: "completed" } });
    expect(times[1]! - times[0]!).toBeGreaterThan(195);
  });

  it.each<[string, Answer]>([
    ["an error within the stream", (response) => begin(response).end(event({ error: { message: "x" } }))],
    ["a stream that ends too early", (response) => begin(response).end(event({ type: "response.created" }))],
    [
      "a cut connection",
      (response) => {
        begin(response).write(event({ type: "response.created" }));
        setImmediate(() => response.destroy());
      },
    ],
    ["half an event", (response) => begin(response).end('data: {"type":"resp')],
    ["an answer that never began", (response) => response.destroy()],
  ])("after %s", async (_name, answer) => {
    const { baseUrl } = await serve((response, request, asked) =>
      asked === 1 ? answer(response, request, asked) : begin(response).end(END),
    );
    expect(await ask({ baseUrl, retries: 1 })).toMatchObject({ end: { status: "completed" } });
  });
});

describe("a failure says what happened:", () => {
  it.each<[string, Answer, object]>([
    [
      "an error within the stream",
      (response) => begin(response).end(event({ type: "error", error: { message: "over\nloaded" } })),
      { error: "the endpoint failed: over loaded", retry: true },
    ],
    [
      "no quota left, within the stream",
      (response) => begin(response).end(event({ error: { code: "insufficient_quota", message: "pay" } })),
      { error: "the endpoint failed: pay", retry: false, isForAll: true },
    ],
    [
      "a cut connection",
      (response) => {
        begin(response).write(event({ type: "response.created" }));
        setImmediate(() => response.destroy());
      },
      { error: "the endpoint did not answer: other side closed", retry: true },
    ],
    [
      "a page in place of an error",
      (response) => response.writeHead(502).end("<html>\nBad gateway</html>"),
      { error: "the endpoint answered 502: <html> Bad gateway</html>", retry: true },
    ],
    [
      "an error without a text",
      (response) => response.writeHead(400).end(),
      { error: "the endpoint answered 400: no message", retry: false },
    ],
    [
      "an error whose text is cut off",
      (response) => {
        response.writeHead(400, { "content-length": "1000" }).write("because");
        setImmediate(() => response.destroy());
      },
      { error: "the endpoint answered 400: because", retry: false },
    ],
    [
      "an error whose text never ends",
      (response) => {
        response.writeHead(400);
        const more = (): void => {
          while (!response.destroyed && response.write("no ".repeat(10_000)));
          response.once("drain", more);
        };
        more();
      },
      { error: expect.stringMatching(/^the endpoint answered 400: no no .*…$/) as string, retry: false },
    ],
  ])("%s", async (_name, answer, end) => {
    const { baseUrl } = await serve(answer);
    expect((await ask({ baseUrl })).end).toEqual({ status: "failed", ...end });
  });

  it.each<[string, Answer]>([
    ["before its answer", () => {}],
    ["in the middle of it", (response) => begin(response).write(": wait\n\n")],
  ])("silence %s", async (_name, answer) => {
    const { baseUrl } = await serve(answer);
    expect((await ask({ baseUrl, idleTimeoutMs: 50 })).end).toEqual({
      status: "failed",
      error: "the endpoint was silent for 50ms",
      retry: true,
    });
  });

  it("nobody listens", async () => {
    const { end } = await ask({ baseUrl: "http://127.0.0.1:1/v1" });
    expect(end).toMatchObject({
      error: "the endpoint did not answer: connect ECONNREFUSED 127.0.0.1:1",
      retry: true,
    });
  });
});

it.each<[string, Answer]>([
  ["before the answer", () => {}],
  ["in the middle of it", (response) => begin(response).write(END.slice(0, 20))],
  ["in the text of a refusal", (response) => response.writeHead(500).write("no")],
])("an aborted request rejects with the reason, and its connection ends: %s", async (_name, answer) => {
  const interruption = new AbortController();
  const closed = createDeferred<void>();
  const { baseUrl } = await serve((response, request, asked) => {
    request.socket.once("close", () => closed.resolve());
    answer(response, request, asked);
    setImmediate(() => interruption.abort(new Error("enough")));
  });
  await expect(ask({ baseUrl, retries: 3 }, interruption.signal)).rejects.toThrow("enough");
  await closed.promise;
});

it("an aborted pause ends at once", async () => {
  const interruption = new AbortController();
  const { baseUrl } = await serve((response) => {
    response.writeHead(429, { "retry-after": "100" }).end();
    response.once("close", () => interruption.abort(new Error("enough")));
  });
  await expect(ask({ baseUrl, retries: 3 }, interruption.signal)).rejects.toThrow("enough");
});

it.each(["ftp://example.com", "http://", "https://user:secret@example.com/v1"])(
  "an address that cannot be used is refused: %s",
  (baseUrl) => {
    expect(() => responsesModel({ model: "m", baseUrl })).toThrow(/^(?!.*secret)/);
  },
);
