import { connect, type Socket } from "node:net";
import { afterEach, expect, it } from "vitest";
import { createDeferred } from "../../base/deferred.ts";
import type { Page } from "./http-pages.ts";
import { listenWebSocket, type WebSocketListener } from "./websocket-server.ts";

let listener: WebSocketListener | undefined;

afterEach(() => listener?.close());

/** A server with one page, which counts how often it is asked for. */
async function serving(answer: (number: number) => Promise<void> | void): Promise<{
  readonly port: number;
  readonly asked: () => number;
}> {
  let asked = 0;
  const page: Page = {
    isProtected: true,
    answer: async () => {
      asked += 1;
      const body = `answer ${asked}`;
      await answer(asked);
      return { status: 200, body };
    },
  };
  listener = await listenWebSocket({
    host: "127.0.0.1",
    port: 0,
    pages: new Map([["/page", page]]),
    accept: () => {},
  });
  return { port: Number(new URL(listener.url).port), asked: () => asked };
}

function ask(port: number, times: number): Socket {
  const socket = connect(port, "127.0.0.1");
  socket.setEncoding("latin1");
  socket.write(`GET /page HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n\r\n`.repeat(times));
  return socket;
}

async function answersOf(socket: Socket, count: number): Promise<string[]> {
  let text = "";
  for await (const piece of socket.iterator({ destroyOnReturn: false })) {
    text += piece as string;
    const answers = text.match(/answer \d+/g) ?? [];
    if (answers.length === count) return answers;
  }
  return [];
}

it("requests of one socket are answered one at a time, in their order", async () => {
  let running = 0;
  let most = 0;
  const { port } = await serving(async () => {
    running += 1;
    most = Math.max(most, running);
    await new Promise(setImmediate);
    running -= 1;
  });
  const socket = ask(port, 50);
  expect(await answersOf(socket, 50)).toEqual(
    Array.from({ length: 50 }, (_, index) => `answer ${index + 1}`),
  );
  expect(most).toBe(1);
  socket.destroy();
});

it("a socket with thousands of requests is closed, and nobody waits for them", async () => {
  const held = createDeferred<void>();
  const { port, asked } = await serving((number) => (number === 1 ? held.promise : undefined));
  const greedy = ask(port, 3_000);
  greedy.on("error", () => {}); // A reset, because the server has not read everything.
  await new Promise((resolve) => greedy.resume().once("close", resolve));
  const other = ask(port, 1);
  expect(await answersOf(other, 1)).toEqual(["answer 2"]);
  held.resolve();
  expect(asked()).toBe(2);
  other.destroy();
});
