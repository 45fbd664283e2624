import { createHash } from "node:crypto";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import net from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, expect, it } from "vitest";
import type { RawPeer } from "../conformance/raw-peer.ts";
import { pollUntil, withDeadline } from "./deadline.ts";
import { limitedCli } from "./limited-server.ts";
import { frame, upgradeRequest } from "./raw-websocket.ts";

// Strangers are sockets that never become sessions. They do everything to stay: they keep their end open, whatever the
// server does with its own.

const DEADLINE_MS = 60_000;
const STRANGERS = 10;
/** Long enough for well-behaved clients, whatever the machine does. */
const TIMEOUT_MS = 5_000;
const DRIP_MS = 50;
const TOKEN = "a token of some length";
const AUTH = [
  "--ws-auth",
  "capability-token",
  "--ws-token-sha256",
  createHash("sha256").update(TOKEN).digest("hex"),
];
const TIMEOUTS = ["--handshake-timeout-ms", `${TIMEOUT_MS}`, "--initialize-timeout-ms", `${TIMEOUT_MS}`];

const sockets = new Set<net.Socket>();
const timers = new Set<NodeJS.Timeout>();

afterAll(() => {
  for (const timer of timers) clearInterval(timer);
  for (const socket of sockets) socket.destroy();
});

/** Those of TCP: a server keeps another one, to ask the kernel who connects. */
function serverSockets(pid: number): number {
  const tables = ["tcp", "tcp6"].map((name) => readFileSync(`/proc/net/${name}`, "utf8"));
  const inodes = tables.flatMap((table) => table.split("\n").map((line) => line.trim().split(/\s+/)[9]));
  const links = new Set(inodes.map((inode) => `socket:[${inode}]`));
  let count = 0;
  for (const fd of readdirSync(`/proc/${pid}/fd`)) {
    try {
      if (links.has(readlinkSync(`/proc/${pid}/fd/${fd}`))) count += 1;
    } catch {
      // It was closed meanwhile.
    }
  }
  return count;
}

/** Connects, says something, and keeps its end open. */
async function stranger(port: number, text: string | Buffer = ""): Promise<net.Socket> {
  const socket = net.connect({ host: "127.0.0.1", port, noDelay: true, allowHalfOpen: true });
  sockets.add(socket);
  await withDeadline(
    new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("error", reject)),
    DEADLINE_MS,
    () => "a TCP connection",
  );
  socket.on("error", () => {}); // a reset is one of the ways to end
  if (text.length > 0) socket.write(text);
  return socket;
}

function drip(socket: net.Socket, text: string): void {
  timers.add(setInterval(() => socket.writable && socket.write(text), DRIP_MS));
}

function nextText(socket: net.Socket): Promise<string> {
  const text = new Promise<string>((resolve, reject) => {
    const fail = (): void => reject(new Error("the connection ended without a word"));
    socket.once("close", fail);
    socket.once("data", (bytes: Buffer) => {
      socket.off("close", fail);
      resolve(bytes.toString("latin1"));
    });
  });
  return withDeadline(text, DEADLINE_MS, () => "an answer");
}

/** Each creates one stranger, which stays forever if the server lets it. */
const STAGES: Readonly<Record<string, (port: number) => Promise<unknown>>> = {
  "says nothing": (port) => stranger(port),
  "sends half of a head": (port) => stranger(port, "GET / HTTP/1.1\r\nHost: localhost\r\n"),
  "sends a head without end, bit by bit": async (port) =>
    drip(await stranger(port, "GET / HTTP/1.1\r\n"), "x: y\r\n"),
  "sends no HTTP": (port) => stranger(port, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"),
  "asks for a tunnel": (port) => stranger(port, "CONNECT x:1 HTTP/1.1\r\nHost: localhost\r\n\r\n"),
  "keeps its connection after a request": async (port) => {
    const socket = await stranger(port, "GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    expect(await nextText(socket)).toMatch(/^HTTP\/1\.1 200 /);
  },
  "sends a body without end": async (port) => {
    const socket = await stranger(
      port,
      "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n",
    );
    drip(socket, "x");
    expect(await nextText(socket)).toMatch(/^HTTP\/1\.1 405 /);
  },
  "asks for more than it reads": async (port) => {
    const socket = await stranger(port);
    socket.pause();
    drip(socket, "GET /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\n".repeat(50));
  },
};

const REFUSALS: Readonly<Record<string, string>> = {
  400: upgradeRequest().replace("Sec-WebSocket-Version: 13", "Sec-WebSocket-Version: 12"),
  401: upgradeRequest(),
  "401 with a wrong token": upgradeRequest(["Authorization: Bearer wrong"]),
  403: upgradeRequest(["Origin: http://x"]),
  404: upgradeRequest().replace("GET / ", "GET /x "),
  405: upgradeRequest().replace("GET / ", "POST / "),
  "200 of a probe": upgradeRequest().replace("GET / ", "GET /readyz "),
};

it.concurrent("strangers that are no WebSockets are gone soon, for good", async () => {
  await using server = await limitedCli(TIMEOUTS);
  const before = serverSockets(server.pid);
  for (const act of Object.values(STAGES)) await times(STRANGERS, () => act(server.port));
  await gone(server.pid, before);
});

it.concurrent("an upgrade that is refused is gone soon, though it stays and sends a byte, or many, or nothing", async () => {
  await using server = await limitedCli([...TIMEOUTS, ...AUTH]);
  const before = serverSockets(server.pid);
  for (const [status, request] of Object.entries(REFUSALS))
    await times(STRANGERS, async (index) => {
      const socket = await refused(server.port, status, request);
      if (index % 3 === 0) socket.write("x");
      if (index % 3 === 1) drip(socket, "x".repeat(1000));
    });
  await gone(server.pid, before);
});

it.concurrent("an upgrade that is refused is gone when its peer is, though it has sent a byte before", async () => {
  await using server = await limitedCli(AUTH);
  const before = serverSockets(server.pid);
  for (const [status, request] of Object.entries(REFUSALS))
    await times(STRANGERS, async (index) => {
      const socket = await refused(server.port, status, request);
      socket.write("x", () => (index % 2 === 0 ? socket.destroy() : socket.resetAndDestroy()));
    });
  await gone(server.pid, before);
});

it.concurrent("an upgrade that is refused because the server is full is gone soon", async () => {
  await using server = await limitedCli([...TIMEOUTS, "--max-connections", "1"]);
  const peer = await server.session();
  const before = serverSockets(server.pid);
  await times(STRANGERS, async () => {
    const socket = await refused(server.port, "503", upgradeRequest());
    socket.write("x");
  });
  await gone(server.pid, before);
  expect(await peer.request("environment/status")).toEqual({ status: "ready" });
});

async function refused(port: number, status: string, request: string): Promise<net.Socket> {
  const socket = await stranger(port, request);
  expect(await nextText(socket)).toMatch(`HTTP/1.1 ${status.slice(0, 3)} `);
  return socket;
}

async function times(count: number, act: (index: number) => Promise<unknown>): Promise<void> {
  await Promise.all(Array.from({ length: count }, (_, index) => act(index)));
}

async function gone(pid: number, before: number): Promise<void> {
  await pollUntil(
    () => serverSockets(pid) === before,
    DEADLINE_MS,
    () => `${before} sockets of the server, not ${serverSockets(pid)}`,
  );
}

async function upgraded(port: number): Promise<net.Socket> {
  const socket = await stranger(port, upgradeRequest());
  expect(await nextText(socket)).toMatch(/^HTTP\/1\.1 101 /);
  return socket;
}

/** What a WebSocket does that never becomes a session, or does not leave. */
const WEBSOCKETS: Readonly<Record<string, (socket: net.Socket) => unknown>> = {
  "says nothing": () => {},
  "only pings": (socket) => drip(socket, frame("", { opcode: 9 }).toString("latin1")),
  "asks for what it may not": (socket) =>
    drip(socket, frame('{"id":1,"method":"environment/status"}').toString("latin1")),
  "never ends its message": (socket) => socket.write(frame("[", { fin: false })),
  "closes, and stays": (socket) => socket.write(frame(Buffer.of(3, 232), { opcode: 8 })),
  "breaks the rules of frames, and stays": (socket) => socket.write(frame("x", { reservedBits: 7 })),
  "sends what is no UTF-8, and stays": (socket) => socket.write(frame(Buffer.of(255))),
};

it.concurrent("WebSockets that never become sessions are gone soon, and their places are free", async () => {
  const acts = Object.values(WEBSOCKETS);
  await using server = await limitedCli([...TIMEOUTS, "--max-connections", String(acts.length * STRANGERS)]);
  const before = serverSockets(server.pid);
  for (const act of acts) await times(STRANGERS, async () => act(await upgraded(server.port)));
  await gone(server.pid, before);
  const peer: RawPeer = await server.session();
  expect(await peer.request("environment/status")).toEqual({ status: "ready" });
});

it.concurrent("a session is not cut for the time that its handshake was given, nor is an HTTP client that keeps asking", async () => {
  await using server = await limitedCli(TIMEOUTS);
  const peer = await server.session();
  const probe = await stranger(server.port);
  const end = performance.now() + 1.5 * TIMEOUT_MS;
  while (performance.now() < end) {
    await delay(TIMEOUT_MS / 25);
    probe.write("GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    expect(await nextText(probe)).toMatch(/^HTTP\/1\.1 200 /);
    expect(await peer.request("environment/status")).toEqual({ status: "ready" });
  }
});

it.concurrent("strangers are never more than maxPendingConnections, and keep no one out", async () => {
  await using server = await limitedCli(["--max-pending-connections", "10"]);
  const before = serverSockets(server.pid);
  for (let round = 0; round < 20; round += 1) {
    await Promise.all(Array.from({ length: 10 }, () => stranger(server.port, "GET / HTTP/1.1\r\n")));
    const peer = await server.session();
    expect(await peer.request("environment/status")).toEqual({ status: "ready" });
    expect(serverSockets(server.pid)).toBeLessThanOrEqual(before + 10 + 1);
    peer.drop();
    await peer.closed;
    await pollUntil(
      () => serverSockets(server.pid) <= before + 10,
      DEADLINE_MS,
      () => "the end of the peer",
    );
  }
});

it.concurrent("a server that stops leaves no one waiting for an answer", async () => {
  await using server = await limitedCli([]);
  const silent = await stranger(server.port);
  const refused = await stranger(server.port, upgradeRequest(["Origin: http://x"]));
  await nextText(refused);
  await server.kill("SIGTERM");
  for (const socket of [silent, refused])
    await pollUntil(
      () => socket.readableEnded || socket.destroyed || socket.read() !== null,
      DEADLINE_MS,
      () => "the end of the connection",
    );
});
