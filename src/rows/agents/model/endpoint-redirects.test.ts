import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, it } from "vitest";
import { responsesModel } from "./responses-model.ts";

const servers: { close: () => void }[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** An HTTP server on its own port; resolves with its origin. */
function serve(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().on("end", () => answer(request, response));
  });
  servers.push(server);
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () =>
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    );
  });
}

/** The end of a turn at an endpoint. */
async function endAt(baseUrl: string) {
  const model = responsesModel({ model: "m", baseUrl, apiKey: "secret", retries: 2, retryDelayMs: 1 });
  const input = [{ role: "user" as const, content: "hello" }];
  const { signal } = new AbortController();
  return (await model.respond({ input, tools: [], mayCallTools: false, signal } as never)).end;
}

it.each([301, 302, 303, 307, 308])(
  "a conversation does not follow a redirect with %i to another origin",
  async (status) => {
    let elsewhere = 0;
    let asked = 0;
    const other = await serve((_request, response) => {
      elsewhere += 1;
      response.end();
    });
    const endpoint = await serve((_request, response) => {
      asked += 1;
      response.writeHead(status, { location: `${other}/v1/responses` }).end();
    });
    expect(await endAt(`${endpoint}/v1`)).toEqual({
      status: "failed",
      error: `the endpoint redirects to ${other}, and the conversation is not sent to another origin; if you trust it, pass its address with --base-url`,
      retry: false,
      isForAll: true,
    });
    expect([asked, elsewhere]).toEqual([1, 0]);
  },
);

it("a redirect within the origin is followed if it repeats the request, with the key", async () => {
  const seen: (string | undefined)[] = [];
  const endpoint = await serve((request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers.authorization}`);
    if (request.url === "/v1/responses") response.writeHead(308, { location: "/v2/responses" }).end();
    else response.writeHead(400, { "content-type": "application/json" }).end('{"error":{"message":"no"}}');
  });
  expect(await endAt(`${endpoint}/v1`)).toMatchObject({ error: "the endpoint answered 400: no" });
  expect(seen).toEqual(["POST /v1/responses Bearer secret", "POST /v2/responses Bearer secret"]);
});

it.each([
  [302, "the endpoint answered 302 with a redirect to /v1/responses; pass its final address with --base-url"],
  [
    307,
    "the endpoint answered 307 with a redirect to /v1/responses, after 5 others; pass its final address with --base-url",
  ],
])("a redirect with %i that leads nowhere is an error with the remedy", async (status, error) => {
  const endpoint = await serve((_request, response) => {
    response.writeHead(status, { location: "/v1/responses" }).end();
  });
  expect(await endAt(`${endpoint}/v1`)).toMatchObject({ status: "failed", error, retry: false });
});
