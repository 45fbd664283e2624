import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { afterEach, expect, it } from "vitest";
import { type ServerOptions, WebSocket, WebSocketServer } from "ws";
import type { Transport } from "../transport.ts";
import { connectWebSocket } from "./connect-websocket.ts";
import { plainHeader } from "./frame-header.ts";
import { listenWebSocket } from "./websocket-server.ts";

let server: WebSocketServer | undefined;

afterEach(() => {
  for (const client of server?.clients ?? []) client.terminate();
  server?.close();
});

async function connectTo(options: ServerOptions): Promise<Transport> {
  server = new WebSocketServer({ host: "127.0.0.1", port: 0, ...options });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return connectWebSocket(`ws://127.0.0.1:${port}`, { life: { askMs: 20, silenceMs: 200 } });
}

function end(transport: Transport): Promise<string | undefined> {
  return new Promise((resolve) => transport.open({ message: () => {}, drain: () => {}, close: resolve }));
}

it("a server that answers no ping is given up", async () => {
  expect(await end(await connectTo({ autoPong: false }))).toBe("the server has been silent for 200ms");
});

it("a quiet server that answers pings is kept, and so is one that is not read from", async () => {
  const transport = await connectTo({});
  let ended = false;
  void end(transport).then(() => {
    ended = true;
  });
  const [peer] = server!.clients;
  for (let pings = 0; pings < 15; pings += 1) await once(peer!, "ping");
  expect(ended).toBe(false);
  transport.pause();
  // Nothing can be heard now, for longer than silence is allowed.
  const paused = performance.now();
  while (performance.now() - paused < 300) await new Promise((resolve) => setImmediate(resolve));
  expect(ended).toBe(false);
  transport.destroy();
});

it("a server that takes long for one message is kept, although it answers no ping", async () => {
  const transport = await connectTo({ autoPong: false });
  let message = "";
  const ended = new Promise<string | undefined>((resolve) => {
    transport.open({
      message: (text) => {
        message = text;
        transport.destroy("done");
      },
      drain: () => {},
      close: resolve,
    });
  });
  const [peer] = server!.clients;
  // One frame of 100 bytes, a byte at a time, for several times as long as silence is allowed.
  const socket = (peer as unknown as { _socket: Socket })._socket;
  socket.write(Buffer.from([0x81, 100]));
  const timer = setInterval(() => socket.write("x"), 10);
  const begun = performance.now();
  expect(await ended).toBe("done");
  clearInterval(timer);
  expect(message).toBe("x".repeat(100));
  expect(performance.now() - begun).toBeGreaterThan(600);
});

it("parts of a server's message are one frame, or several if that would be too long", async () => {
  const MIB = 1024 * 1024;
  const small = [Buffer.from("{"), Buffer.alloc(3 * MIB, "a"), Buffer.from("}")];
  const large = [Buffer.alloc(3 * MIB, "b"), Buffer.alloc(2 * MIB, "c")];
  let flushed = 0;
  const listener = await listenWebSocket({
    host: "127.0.0.1",
    port: 0,
    accept: (transport) => {
      transport.open({ message: () => {}, drain: () => {}, close: () => {} });
      for (const parts of [small, large]) transport.sendParts(parts, () => (flushed += 1));
    },
  });
  const client = new WebSocket(listener.url);
  const first = new Promise<Buffer>((resolve) => {
    client.once("open", () => (client as unknown as { _socket: Socket })._socket.once("data", resolve));
  });
  const messages: Buffer[] = [];
  await new Promise<void>((resolve) => {
    client.on("message", (data: Buffer) => {
      messages.push(data);
      if (messages.length === 2) resolve();
    });
  });
  expect((await first).subarray(0, 10)).toEqual(plainHeader(3 * MIB + 2));
  expect(messages.map((data, index) => data.equals(Buffer.concat([small, large][index]!)))).toEqual([
    true,
    true,
  ]);
  expect(flushed).toBe(2);
  client.terminate();
  await listener.close();
});
