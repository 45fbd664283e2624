import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { expect, it, vi } from "vitest";
import { UnreadAnswers, webRequest } from "./web-exchange.ts";

const MEBIBYTE = 1024 * 1024;

/** A client that has sent a request, and the two ends of it at the server. */
async function exchange(
  use: (request: IncomingMessage, response: ServerResponse, client: Socket) => Promise<void>,
): Promise<void> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  client.on("error", () => {});
  try {
    const arriving = once(server, "request");
    client.write("GET / HTTP/1.1\r\nhost: a\r\nauthorization: Bearer secret\r\nx-two: 1\r\nx-two: 2\r\n\r\n");
    const [request, response] = (await arriving) as [IncomingMessage, ServerResponse];
    await use(request, response, client);
  } finally {
    client.destroy();
    server.close();
  }
}

it("a request is shown without its token, and ends when its client goes", async () => {
  await exchange(async (request, response, client) => {
    const shown = webRequest(request, response);
    expect([shown.headers.get("authorization"), shown.headers.get("x-two")]).toEqual([null, "1, 2"]);
    expect(shown.signal.aborted).toBe(false);
    client.destroy();
    await once(response, "close");
    expect(shown.signal.aborted).toBe(true);
  });
});

it("an answer that takes too much memory is dropped, and the next one has room", async () => {
  const unread = new UnreadAnswers(MEBIBYTE);
  await exchange(async (_, response, client) => {
    client.pause();
    const sending = unread.send(response, new Response(new Uint8Array(32 * MEBIBYTE)));
    await once(response, "close");
    await sending;
  });
  await exchange(async (_, response, client) => {
    client.resume();
    await unread.send(response, new Response(new Uint8Array(MEBIBYTE / 2)));
    expect(response.writableEnded && !response.destroyed).toBe(true);
  });
});

it("an answer that is not read for a minute is dropped", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    await exchange(async (_, response, client) => {
      client.pause();
      const piece = new Uint8Array(MEBIBYTE);
      const endless = new ReadableStream({ pull: (controller) => controller.enqueue(piece) });
      const sending = new UnreadAnswers(Number.POSITIVE_INFINITY).send(response, new Response(endless));
      while (vi.getTimerCount() === 0) await new Promise((resolve) => void setImmediate(resolve));
      const closed = once(response, "close");
      vi.advanceTimersByTime(60_000);
      await closed;
      await sending;
    });
  } finally {
    vi.useRealTimers();
  }
});

it("an answer is sent in the client's own time, and Node says whether the connection stays", async () => {
  await exchange(async (_, response, client) => {
    const heard: Buffer[] = [];
    client.on("data", (chunk: Buffer) => heard.push(chunk));
    const headers = { connection: "close", "x-a": "b" };
    const answer = new Response(new Uint8Array(5 * MEBIBYTE), { status: 418, headers });
    await new UnreadAnswers(Number.POSITIVE_INFINITY).send(response, answer);
    while (!heard.at(-1)?.toString("latin1").endsWith("0\r\n\r\n")) await once(client, "data");
    const text = Buffer.concat(heard).toString("latin1");
    expect(text).toMatch(/^HTTP\/1\.1 418 /);
    expect(text).toMatch(/\r\nx-a: b\r\n/);
    expect(text).toMatch(/\r\nConnection: keep-alive\r\n/);
    expect(text.length).toBeGreaterThan(5 * MEBIBYTE);
  });
});
