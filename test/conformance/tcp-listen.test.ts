import { once } from "node:events";
import { linkSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect } from "vitest";
import { pollUntil, withDeadline } from "../fault/deadline.ts";
import { openWebSocketPeer, type RawPeer } from "./raw-peer.ts";
import { expectError, verifies } from "./verifies.ts";

const DEADLINE_MS = 20_000;
const MAX_WAITING = 64;

let directory: string;
const sockets = new Set<Socket>();
const servers = new Set<Server>();

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "listen-"));
});

afterEach(() => {
  for (const socket of sockets) socket.destroy();
  for (const server of servers) server.close();
  sockets.clear();
  servers.clear();
  rmSync(directory, { recursive: true });
});

/** Connects, and notes what comes back. */
class Caller {
  readonly socket: Socket;
  heard = "";
  /** Resolves at the end, or when it is cut off. */
  readonly closed: Promise<unknown>;

  constructor(to: { port: number } | { path: string }) {
    this.socket = connect({ ...to, allowHalfOpen: true, ...("port" in to ? { host: "127.0.0.1" } : {}) });
    sockets.add(this.socket.on("error", () => {}));
    this.socket.setEncoding("latin1").on("data", (text: string) => (this.heard += text));
    const closed = new Promise((resolve) => this.socket.once("close", resolve));
    this.closed = withDeadline(closed, DEADLINE_MS, () => "the connection to be cut off");
    this.closed.catch(() => {});
  }

  async connected(): Promise<this> {
    await withDeadline(once(this.socket, "connect"), DEADLINE_MS, () => "a connection");
    return this;
  }

  async hears(text: string): Promise<void> {
    await pollUntil(
      () => this.heard === text,
      DEADLINE_MS,
      () => `${text}, not ${this.heard}`,
    );
  }
}

async function echo(path: string): Promise<void> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket.on("error", () => {}));
    socket.pipe(socket);
  });
  servers.add(server.listen(path));
  await once(server, "listening");
}

async function listen(peer: RawPeer, listenId: string, more: object = {}): Promise<number> {
  const { port } = (await peer.request("tcp/listen", { listenId, port: 0, ...more })) as AddressInfo;
  return port;
}

const accept = (peer: RawPeer, listenId: string, tcpId: string) =>
  peer.request("tcp/accept", { listenId, tcpId });
const write = (peer: RawPeer, tcpId: string, text: string, end = false) =>
  peer.request("tcp/write", { tcpId, chunk: Buffer.from(text).toString("base64"), end });

async function read(peer: RawPeer, tcpId: string): Promise<string> {
  const { chunk, ended } = (await peer.request("tcp/read", { tcpId })) as { chunk: string; ended: boolean };
  return ended ? "the end" : Buffer.from(chunk, "base64").toString("latin1");
}

/** Waits until nothing takes connections there. */
async function nobodyListens(port: number): Promise<void> {
  await pollUntil(
    async () => {
      const { socket } = new Caller({ port });
      const [error] = (await Promise.race([once(socket, "connect"), once(socket, "error")]).catch(
        (reason: unknown) => [reason],
      )) as [NodeJS.ErrnoException | undefined];
      socket.destroy();
      return error?.code === "ECONNREFUSED";
    },
    DEADLINE_MS,
    () => `port ${port} to be free`,
  );
}

verifies("tcp.listen:accepts", async ({ peer }) => {
  const connection = await peer();
  const answer = await connection.request("tcp/listen", { listenId: "l", port: 0 });
  expect(answer).toEqual({ address: "127.0.0.1", port: expect.any(Number) as number });
  const { port } = answer as AddressInfo;
  const first = await new Caller({ port }).connected();
  first.socket.end("first");
  const second = await new Caller({ port }).connected();
  expect(await accept(connection, "l", "a")).toEqual({
    address: "127.0.0.1",
    port: first.socket.localPort,
  });
  expect(await accept(connection, "l", "b")).toMatchObject({ port: second.socket.localPort });
  expect(await read(connection, "a")).toBe("first");
  expect(await read(connection, "a")).toBe("the end");
  await write(connection, "a", "heard you", true);
  await first.closed;
  expect(first.heard).toBe("heard you");
  await write(connection, "b", "and you?");
  await second.hears("and you?");
  second.socket.write("yes");
  expect(await read(connection, "b")).toBe("yes");
});

verifies("tcp.listen:refuses", async ({ peer }) => {
  const connection = await peer();
  const port = await listen(connection, "l");
  const taken = await expectError(
    listen(connection, "m", { port }),
    -32603,
    new RegExp(`^cannot listen on 127.0.0.1:${port}: EADDRINUSE`),
  );
  expect(taken.data).toEqual({ code: "OS_ERROR", errno: "EADDRINUSE" });
  const nowhere = await expectError(listen(connection, "m", { host: "192.0.2.1" }), -32603);
  expect(nowhere.data).toMatchObject({ errno: "EADDRNOTAVAIL" });
  const unknown = await expectError(listen(connection, "m", { host: "no-such-host.invalid" }), -32603);
  expect(unknown.data).toMatchObject({ code: "UNKNOWN_HOST" });
  await expectError(listen(connection, "l"), -32602, /already exists/);
  for (const bad of [{ port: 65_536 }, { port: -1 }, { host: "" }, { listenId: "x".repeat(129) }])
    await expectError(listen(connection, "m", bad), -32602);
  // What was refused takes no id.
  await listen(connection, "m");
  const missing = await expectError(accept(connection, "other", "t"), -32004);
  expect(missing.data).toEqual({ code: "NOT_FOUND" });
});

verifies("tcp.listen:limit", async ({ launch }) => {
  const limits = ["--max-listeners-per-connection", "2", "--max-listeners", "3"];
  const server = await launch(["--listen", "ws://127.0.0.1:0", ...limits]);
  const url = await server.banner();
  const [one, other] = [await openWebSocketPeer(url), await openWebSocketPeer(url)];
  await one.handshake();
  await other.handshake();
  await listen(one, "a");
  await one.request("unix/listen", { listenId: "b", path: join(directory, "b") });
  const own = await expectError(listen(one, "c"), -32011);
  expect(own.data).toEqual({ code: "LIMIT_REACHED", limit: "maxListenersPerConnection", value: 2 });
  await listen(other, "a");
  const all = await expectError(listen(other, "b"), -32011);
  expect(all.data).toEqual({ code: "LIMIT_REACHED", limit: "maxListeners", value: 3 });
  await one.request("tcp/unlisten", { listenId: "a" });
  await listen(other, "b");
  // One that fails takes no slot, and those of a connection that ends are free again.
  await other.request("tcp/unlisten", { listenId: "b" });
  await expectError(listen(other, "b", { host: "192.0.2.1" }), -32603);
  await listen(other, "b");
  other.drop();
  await pollUntil(
    () =>
      listen(one, "c").then(
        () => true,
        () => false,
      ),
    DEADLINE_MS,
    () => "room for another listener",
  );
  one.drop();
});

verifies("tcp.listen:sandbox", async ({ launch }) => {
  const server = await launch(["--listen", "ws://127.0.0.1:0", "--require-sandbox"]);
  const connection = await openWebSocketPeer(await server.banner());
  await connection.handshake();
  const path = join(directory, "s");
  await echo(join(directory, "echo"));
  for (const request of [
    listen(connection, "l"),
    connection.request("unix/listen", { listenId: "l", path }),
    connection.request("unix/connect", { tcpId: "t", path: join(directory, "echo") }),
  ]) {
    const { data } = await expectError(request, -32600, /requires a sandbox/);
    expect(data).toEqual({ code: "PERMISSION_DENIED" });
  }
  connection.drop();
});

verifies("tcp.accept:waits", async ({ peer }) => {
  const connection = await peer();
  const port = await listen(connection, "l");
  const first = accept(connection, "l", "a");
  await expectError(accept(connection, "l", "b"), -32602, /is waiting/);
  await expectError(accept(connection, "l", "a"), -32602, /already exists/);
  expect(await connection.request("environment/status", null)).toEqual({ status: "ready" });
  const caller = await new Caller({ port }).connected();
  expect(await first).toMatchObject({ port: caller.socket.localPort });
  const cancelled = accept(connection, "l", "b");
  cancelled.catch(() => {});
  await connection.request("tcp/close", { tcpId: "b" });
  await expectError(cancelled, -32004, /it was cancelled/);
  const closed = accept(connection, "l", "b");
  closed.catch(() => {});
  expect(await connection.request("tcp/unlisten", { listenId: "l" })).toEqual({});
  expect(await connection.request("tcp/unlisten", { listenId: "l" })).toEqual({});
  await expectError(closed, -32004, /the listener was closed/);
  // What was accepted goes on.
  await write(connection, "a", "still here");
  await caller.hears("still here");
});

verifies("tcp.accept:bounded", async ({ launch }) => {
  const server = await launch(["--listen", "ws://127.0.0.1:0", "--max-tcp-connections", "66"]);
  const connection = await openWebSocketPeer(await server.banner());
  await connection.handshake();
  const [one, other] = [await listen(connection, "one"), await listen(connection, "other")];
  const callers: Caller[] = [];
  for (let count = 0; count < MAX_WAITING; count += 1)
    callers.push(await new Caller({ port: one }).connected());
  await new Caller({ port: one }).closed;
  // Two more may wait elsewhere: then the limit of all connections is reached.
  for (let count = 0; count < 2; count += 1) await new Caller({ port: other }).connected();
  await new Caller({ port: other }).closed;
  expect(callers.filter(({ socket }) => socket.destroyed)).toEqual([]);
  const { data } = await expectError(
    connection.request("tcp/connect", { tcpId: "t", host: "127.0.0.1", port: one }),
    -32011,
  );
  expect(data).toEqual({ code: "LIMIT_REACHED", limit: "maxTcpConnections", value: 66 });
  for (let count = 0; count < MAX_WAITING; count += 1) await accept(connection, "one", `t${count}`);
  await connection.request("tcp/close", { tcpId: "t0" });
  await callers[0]?.closed;
  await new Caller({ port: one }).connected();
  await accept(connection, "one", "t");
  connection.drop();
});

verifies("tcp.listen:ends", async ({ peer }) => {
  const connection = await peer();
  const path = join(directory, "s");
  const port = await listen(connection, "l");
  const caller = await new Caller({ port }).connected();
  await connection.request("tcp/unlisten", { listenId: "l" });
  await caller.closed;
  await nobodyListens(port);
  const again = await listen(connection, "l");
  await connection.request("unix/listen", { listenId: "u", path });
  const waiting = [await new Caller({ port: again }).connected(), await new Caller({ path }).connected()];
  // A Unix socket ends like any other: nothing is reset.
  waiting[1]?.socket.end();
  connection.close();
  for (const { closed } of waiting) await closed;
  await nobodyListens(again);
  expect(statSync(path, { throwIfNoEntry: false })).toBeUndefined();
});

verifies("unix.connect:carries", async ({ peer }) => {
  const connection = await peer();
  // Longer than what fits into the system's address of a socket: it is bound by a short one.
  const deep = join(directory, "d".repeat(120));
  mkdirSync(deep);
  await echo(join(directory, "echo"));
  linkSync(join(directory, "echo"), join(deep, "echo"));
  symlinkSync(join(deep, "echo"), join(directory, "link"));
  for (const [tcpId, path] of [
    ["a", join(deep, "echo")],
    ["b", `file://${join(directory, "link")}`],
  ]) {
    expect(await connection.request("unix/connect", { tcpId, path })).toEqual({});
    await write(connection, tcpId!, "hello", true);
    expect(await read(connection, tcpId!)).toBe("hello");
    expect(await read(connection, tcpId!)).toBe("the end");
    expect(await connection.request("tcp/close", { tcpId })).toEqual({});
  }
});

verifies("unix.connect:refuses", async ({ launch }) => {
  const inside = join(directory, "in");
  mkdirSync(inside);
  const server = await launch(["--listen", "ws://127.0.0.1:0", "--fs-roots", inside]);
  const connection = await openWebSocketPeer(await server.banner());
  await connection.handshake();
  const attempt = (name: string) =>
    connection.request("unix/connect", { tcpId: "t", path: join(inside, name) });
  await echo(join(inside, "echo"));
  await echo(join(directory, "outside"));
  writeFileSync(join(inside, "file"), "");
  symlinkSync(join(directory, "outside"), join(inside, "link"));
  const dead = createServer().listen(join(inside, "bound"));
  await once(dead, "listening");
  linkSync(join(inside, "bound"), join(inside, "dead"));
  dead.close();
  const missing = await expectError(attempt("missing"), -32004);
  expect(missing.data).toMatchObject({ code: "NOT_FOUND", errno: "ENOENT" });
  expect((await expectError(attempt("file"), -32600, /is not a socket/)).data).toEqual({
    code: "INVALID_INPUT",
  });
  expect((await expectError(attempt("dead"), -32603)).data).toEqual({
    code: "CONNECTION_REFUSED",
    errno: "ECONNREFUSED",
  });
  for (const name of ["link", "../outside", "../nothing"]) {
    const { data } = await expectError(attempt(name), -32600, /is outside the roots/);
    expect(data).toEqual({ code: "PERMISSION_DENIED" });
  }
  const outside = { listenId: "l", path: join(directory, "new") };
  await expectError(connection.request("unix/listen", outside), -32600, /is outside the roots/);
  await attempt("echo");
  await connection.request("unix/listen", { listenId: "l", path: join(inside, "new") });
  await new Caller({ path: join(inside, "new") }).connected();
  await accept(connection, "l", "u");
  connection.drop();
});

verifies("unix.listen:accepts", async ({ peer }) => {
  const connection = await peer();
  const path = join(directory, "s");
  expect(await connection.request("unix/listen", { listenId: "l", path })).toEqual({});
  expect([statSync(path).isSocket(), statSync(path).mode & 0o777]).toEqual([true, 0o600]);
  const caller = await new Caller({ path }).connected();
  expect(await accept(connection, "l", "t")).toEqual({ address: "", port: 0 });
  caller.socket.end("hello");
  expect(await read(connection, "t")).toBe("hello");
  expect(await read(connection, "t")).toBe("the end");
  await write(connection, "t", "bye", true);
  await caller.closed;
  expect(caller.heard).toBe("bye");
  const exists = await expectError(connection.request("unix/listen", { listenId: "m", path }), -32603);
  expect(exists.data).toMatchObject({ errno: "EEXIST" });
  await connection.request("tcp/unlisten", { listenId: "l" });
  expect(statSync(path, { throwIfNoEntry: false })).toBeUndefined();
});
