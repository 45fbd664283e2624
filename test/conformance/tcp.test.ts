import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { expect } from "vitest";
import { openWebSocketPeer, type RawPeer } from "./raw-peer.ts";
import { expectError, verifies } from "./verifies.ts";

const MEBIBYTE = 1024 * 1024;

interface Listener extends AsyncDisposable {
  readonly port: number;
  /** The next connection that arrives. */
  accept(): Promise<Socket>;
}

async function listen(): Promise<Listener> {
  const server: Server = createServer({ allowHalfOpen: true, pauseOnConnect: true });
  const sockets = new Set<Socket>();
  const waiting: Socket[] = [];
  let wake: () => void = () => {};
  server.on("connection", (socket) => {
    sockets.add(socket.on("error", () => {}));
    waiting.push(socket);
    wake();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    async accept() {
      while (waiting.length === 0)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      return waiting.shift()!;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

const connect = (peer: RawPeer, tcpId: string, port: number, more: object = {}) =>
  peer.request("tcp/connect", { tcpId, host: "127.0.0.1", port, ...more });
const write = (peer: RawPeer, tcpId: string, data: string | Buffer, end = false) =>
  peer.request("tcp/write", { tcpId, chunk: Buffer.from(data).toString("base64"), end });

async function read(peer: RawPeer, tcpId: string): Promise<{ text: string; ended: boolean }> {
  const { chunk, ended } = (await peer.request("tcp/read", { tcpId })) as { chunk: string; ended: boolean };
  return { text: Buffer.from(chunk, "base64").toString("latin1"), ended };
}

verifies("tcp:carries", async ({ peer }) => {
  const connection = await peer();
  await using listener = await listen();
  expect(await connect(connection, "t", listener.port)).toEqual({
    address: "127.0.0.1",
    port: listener.port,
  });
  const far = await listener.accept();
  far.write("hello");
  expect(await read(connection, "t")).toEqual({ text: "hello", ended: false });
  expect(await write(connection, "t", "over")).toEqual({});
  await write(connection, "t", " and out", true);
  far.resume();
  let heard = "";
  far.setEncoding("latin1").on("data", (text: string) => (heard += text));
  await once(far, "end");
  expect(heard).toBe("over and out");
  // The other side still speaks.
  far.end("bye");
  expect(await read(connection, "t")).toEqual({ text: "bye", ended: false });
  expect(await read(connection, "t")).toEqual({ text: "", ended: true });
  expect(await read(connection, "t")).toEqual({ text: "", ended: true });
  await expectError(write(connection, "t", "more"), -32603);
});

verifies("tcp.connect:refuses", async ({ peer }) => {
  const connection = await peer();
  const closed = await listen();
  const { port } = closed;
  await closed[Symbol.asyncDispose]();
  const refused = await expectError(
    connect(connection, "t", port),
    -32603,
    /^cannot connect to 127\.0\.0\.1:/,
  );
  expect(refused.data).toEqual({ code: "CONNECTION_REFUSED", errno: "ECONNREFUSED" });
  const unknown = await expectError(connect(connection, "t", 1, { host: "no-such-host.invalid" }), -32603);
  expect(unknown.data).toMatchObject({ code: "UNKNOWN_HOST" });
  for (const [bad, more] of [
    [0, {}],
    [65_536, {}],
    [1, { host: "" }],
    [1, { tcpId: "x".repeat(129) }],
  ] as const)
    await expectError(connect(connection, "t", bad, more), -32602);
  await using listener = await listen();
  await connect(connection, "t", listener.port);
  await expectError(connect(connection, "t", listener.port), -32602, /already exists/);
  const missing = await expectError(read(connection, "other"), -32004);
  expect(missing.data).toEqual({ code: "NOT_FOUND" });
  await expectError(write(connection, "other", "x"), -32004);
});

verifies("tcp.connect:limit", async ({ launch }) => {
  const server = await launch(["--listen", "ws://127.0.0.1:0", "--max-tcp-connections", "2"]);
  const connection = await openWebSocketPeer(await server.banner());
  await connection.handshake();
  await using listener = await listen();
  await connect(connection, "a", listener.port);
  await connect(connection, "b", listener.port);
  const { data } = await expectError(connect(connection, "c", listener.port), -32011);
  expect(data).toEqual({ code: "LIMIT_REACHED", limit: "maxTcpConnections", value: 2 });
  await connection.request("tcp/close", { tcpId: "a" });
  await connect(connection, "c", listener.port);
  connection.drop();
});

verifies("tcp.connect:sandbox", async ({ launch }) => {
  const server = await launch(["--listen", "ws://127.0.0.1:0", "--require-sandbox"]);
  const connection = await openWebSocketPeer(await server.banner());
  await connection.handshake();
  await using listener = await listen();
  const { data } = await expectError(connect(connection, "a", listener.port), -32600);
  expect(data).toEqual({ code: "PERMISSION_DENIED" });
  connection.drop();
});

verifies("tcp.read:waits", async ({ peer }) => {
  const connection = await peer();
  await using listener = await listen();
  await connect(connection, "t", listener.port);
  const far = await listener.accept();
  const first = read(connection, "t");
  await expectError(read(connection, "t"), -32602, /is waiting/);
  // A waiting read does not hold up others.
  expect(await connection.request("environment/status", null)).toEqual({ status: "ready" });
  far.write("x");
  expect(await first).toEqual({ text: "x", ended: false });
  const total = 64 * MEBIBYTE;
  far.write(Buffer.alloc(total, 7));
  await connection.request("environment/status", null);
  // Without a reader, all but a few buffers wait at the sender.
  expect(far.writableLength).toBeGreaterThan(total / 2);
  let bytes = 0;
  far.end();
  for (let ended = false; !ended; ) {
    const { text, ended: last } = await read(connection, "t");
    bytes += text.length;
    ended = last;
  }
  expect(bytes).toBe(total);
});

verifies("tcp.write:limit", async ({ peer }) => {
  const connection = await peer();
  await using listener = await listen();
  await connect(connection, "t", listener.port);
  const far = await listener.accept();
  const writes: Promise<unknown>[] = [];
  const refused: unknown[] = [];
  for (let sent = 0; refused.length === 0 && sent < 64; sent += 1) {
    const answer = write(connection, "t", Buffer.alloc(MEBIBYTE));
    answer.catch((error: unknown) => refused.push(error));
    writes.push(answer);
    await connection.request("environment/status", null);
  }
  expect(refused[0]).toMatchObject({ code: -32600, data: { code: "LIMIT_REACHED" } });
  let bytes = 0;
  const ended = once(far, "end");
  far.on("data", (chunk: Buffer) => (bytes += chunk.length)).resume();
  const results = await Promise.allSettled(writes);
  const taken = results.filter(({ status }) => status === "fulfilled").length;
  expect(taken).toBe(results.length - 1);
  await write(connection, "t", "", true);
  await ended;
  expect(bytes).toBe(taken * MEBIBYTE);
});

verifies("tcp:ends", async ({ peer }) => {
  const connection = await peer();
  await using listener = await listen();
  await connect(connection, "t", listener.port);
  const far = await listener.accept();
  const waiting = read(connection, "t");
  waiting.catch(() => {});
  const cut = once(far.resume(), "close").catch(() => {});
  expect(await connection.request("tcp/close", { tcpId: "t" })).toEqual({});
  expect(await connection.request("tcp/close", { tcpId: "t" })).toEqual({});
  await expectError(waiting, -32603);
  await cut;
  await connect(connection, "t", listener.port);
  const second = await listener.accept();
  const gone = once(second.resume(), "close").catch(() => {});
  connection.close();
  await gone;
});
