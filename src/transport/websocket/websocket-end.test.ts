import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import type { Transport } from "../transport.ts";
import { connectWebSocket } from "./connect-websocket.ts";
import { listenWebSocket } from "./websocket-server.ts";

const socketOf = (webSocket: WebSocket): Socket => (webSocket as unknown as { _socket: Socket })._socket;

/** Opens a transport and resolves with the reason and the code of its end. */
function end(transport: Transport): Promise<[reason: string | undefined, code: number | undefined]> {
  return new Promise((resolve) =>
    transport.open({ message: () => {}, drain: () => {}, close: (reason, code) => resolve([reason, code]) }),
  );
}

describe("a client's WebSocket", () => {
  async function connected(): Promise<{ transport: Transport; peer: WebSocket; url: string }> {
    const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
    await once(server, "listening");
    const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const [transport, [peer]] = await Promise.all([
      connectWebSocket(url),
      once(server, "connection") as Promise<[WebSocket]>,
    ]);
    onTestFinished(() => {
      transport.destroy();
      peer.terminate();
      server.close();
    });
    return { transport, peer, url };
  }

  it.each([
    [
      "ends without a close frame",
      (peer: WebSocket) => peer.terminate(),
      "the connection ended without a closing handshake",
    ],
    ["is reset", (peer: WebSocket) => socketOf(peer).resetAndDestroy(), "read ECONNRESET"],
    [
      "gets a frame that is none",
      (peer: WebSocket) => socketOf(peer).write(Buffer.from([0xff, 0])),
      "Invalid WebSocket frame: RSV2 and RSV3 must be clear",
    ],
  ])("that %s could not be read, and says why", async (_, act, why) => {
    const { transport, peer, url } = await connected();
    const ended = end(transport);
    act(peer);
    expect((await ended)[0]).toBe(`failed to read websocket JSON-RPC message from ${url}: ${why}`);
  });

  it("that the server closes has the server's code and reason, unless it is a normal end", async () => {
    const normal = await connected();
    const over = end(normal.transport);
    normal.peer.close(1000, "bye");
    expect(await over).toEqual([undefined, 1000]);
    const { transport, peer } = await connected();
    const ended = end(transport);
    peer.close(4010, "taken");
    expect(await ended).toEqual(["the server closed the connection with code 4010: taken", 4010]);
  });

  it("that is closed here needs no reason, even if the server does not answer", async () => {
    const { transport, peer } = await connected();
    const ended = end(transport);
    peer.pause();
    transport.close();
    expect(await ended).toEqual([undefined, 1006]);
  });
});

it("a server does not say why its client disappeared", async () => {
  let ended: Promise<unknown> | undefined;
  const listener = await listenWebSocket({
    host: "127.0.0.1",
    port: 0,
    accept: (transport) => {
      ended = end(transport);
    },
  });
  onTestFinished(() => listener.close());
  const client = new WebSocket(listener.url);
  await once(client, "open");
  socketOf(client).resetAndDestroy();
  await expect.poll(() => ended).toBeDefined();
  expect(await ended).toEqual([undefined, 1006]);
});
