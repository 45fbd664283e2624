import net from "node:net";
import { describe, expect, it } from "vitest";
import { withDeadline } from "../fault/deadline.ts";
import type { SeededRandom } from "../fault/seeded-random.ts";
import type { SessionClient } from "../fault/session-client.ts";
import { AttackedServer } from "./attacked-server.ts";
import { hostileRounds, randomOf, withSeed } from "./hostile-run.ts";

const ATTACKS = 600;
const AT_ONCE = 40;
const ATTACK_DEADLINE_MS = 60_000;

interface Ports {
  readonly http: number;
  readonly socks: number;
}

/** Starts a process with a proxy that may reach this machine, and reads its ports. */
async function startProxied(session: SessionClient, more: object = {}): Promise<Ports> {
  await session.request("process/start", {
    processId: "p",
    argv: ["sh", "-c", 'echo "$HTTP_PROXY $ALL_PROXY"; exec sleep 1000'],
    cwd: "file:///",
    env: { PATH: "/usr/bin:/bin" },
    tty: false,
    networkProxy: {
      proxy: {
        enabled: true,
        enableSocks5: true,
        enableSocks5Udp: true,
        allowUpstreamProxy: true,
        dangerouslyAllowAllUnixSockets: true,
        mode: "full",
        allowLocalBinding: true,
        domains: { "127.0.0.1": "allow" },
      },
      ...more,
    },
  });
  const { chunks } = await session.request<{ chunks: { chunk: string }[] }>("process/read", {
    processId: "p",
    waitMs: 60_000,
  });
  const text = Buffer.from(chunks[0]?.chunk ?? "", "base64").toString();
  const [http, socks] = [...text.matchAll(/:(\d+)\b/g)].map((match) => Number(match[1]));
  if (http === undefined || socks === undefined) throw new Error(`no ports in ${text}`);
  return { http, socks };
}

/** A server on this machine that says anything: the process may reach it, so the proxy has to listen to it. */
async function withLiar(random: SeededRandom, body: (port: number) => Promise<void>): Promise<void> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    socket.resume();
    socket.write(answer(random), () => {
      const end = random.pick(["end", "destroy", "reset", "wait"]);
      if (end === "end") socket.end();
      else if (end === "destroy") socket.destroy();
      else if (end === "reset") socket.resetAndDestroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await body((server.address() as net.AddressInfo).port);
  } finally {
    server.close();
    for (const socket of sockets) socket.destroy();
  }
}

function answer(random: SeededRandom): Buffer {
  const status = random.pick([
    "200 OK",
    "099 Odd",
    "101 Switching",
    "100 Continue",
    "204 None",
    "999 High",
    "0 ",
    "1000 X",
  ]);
  const headers = random.pick([
    "Content-Length: 5\r\n",
    "Content-Length: 5\r\nContent-Length: 6\r\n",
    "Content-Length: 99999999999999999999\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n",
    "Connection: upgrade\r\nUpgrade: x\r\n",
    "Connection: close, content-length\r\nContent-Length: 3\r\n",
    `X: ${"y".repeat(random.between(0, 100_000))}\r\n`,
    "X : y\r\n",
    "X: \0\r\n",
    "Set-Cookie: a\r\nSet-Cookie: b\r\n",
    "",
  ]);
  const body = random.pick([
    "hello",
    "5\r\nhello\r\n0\r\n\r\n",
    "ffffffffffffffff1\r\n",
    "zz\r\n",
    "",
    "\r\n\r\n",
  ]);
  return mutated(random, `HTTP/1.1 ${status}\r\n${headers}\r\n${body}`);
}

function request(random: SeededRandom, port: number): Buffer {
  // Much of what the host says is heard only after a request without a fault.
  if (random.next() < 0.5)
    return Buffer.from(`GET http://127.0.0.1:${port}/ HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`);
  const host = random.pick([
    `127.0.0.1:${port}`,
    "127.0.0.1",
    "example.com",
    `[::ffff:127.0.0.1]:${port}`,
    "",
    "a".repeat(300),
    "127.0.0.1:99999",
  ]);
  const method = random.pick(["GET", "POST", "HEAD", "OPTIONS", "CONNECT", "TRACE", "BREW", "get"]);
  const target =
    method === "CONNECT"
      ? host
      : random.pick([
          `http://${host}/`,
          `http://u:p@${host}/`,
          "/",
          "*",
          `HTTP://${host}?x`,
          `http:${host}`,
          `https://${host}/`,
        ]);
  const headers = random.pick([
    `Host: ${host}\r\n`,
    "",
    `Host: ${host}\r\nHost: other\r\n`,
    "Content-Length: 5\r\n",
    "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Transfer-Encoding: gzip, chunked\r\n",
    "Connection: Upgrade\r\nUpgrade: websocket\r\n",
    "Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 4\r\n",
    "Expect: 100-continue\r\nContent-Length: 5\r\n",
    "Expect: nothing\r\n",
    "X-Unix-Socket: /run/x\r\n",
    `X: ${"y".repeat(random.between(0, 100_000))}\r\n`,
  ]);
  const body = random.pick(["", "hello", "5\r\nhello\r\n0\r\n\r\n", "zz\r\n"]);
  const version = random.pick(["1.1", "1.1", "1.1", "1.0", "2.0", "0.9"]);
  const text = `${method} ${target} HTTP/${version}\r\n${headers}\r\n${body}`;
  return mutated(random, text.repeat(random.pick([1, 1, 1, 2, 50])));
}

function socksRequest(random: SeededRandom, port: number): Buffer {
  const address = random.pick([
    [1, 127, 0, 0, 1],
    [3, 9, ...Buffer.from("127.0.0.1")],
    [3, 255],
    [4, ...random.bytes(16)],
    [9],
    [3, 0],
  ]);
  const bytes = [
    5,
    1,
    0,
    5,
    random.pick([1, 1, 1, 2, 3]),
    0,
    ...address,
    port >> 8,
    port & 255,
    ...Buffer.from("GET / HTTP/1.1\r\n\r\n"),
  ];
  return mutated(random, Buffer.from(bytes));
}

/** The bytes, often with a few changed, cut off or added. */
function mutated(random: SeededRandom, original: string | Buffer): Buffer {
  let bytes = Buffer.from(original);
  for (let changes = random.pick([0, 0, 0, 1, 3]); changes > 0 && bytes.length > 0; changes -= 1) {
    const at = random.between(0, bytes.length - 1);
    const kind = random.pick(["change", "cut", "add"]);
    if (kind === "change") bytes[at] = random.between(0, 255);
    else if (kind === "cut") bytes = bytes.subarray(0, at);
    else bytes = Buffer.concat([bytes.subarray(0, at), random.bytes(5), bytes.subarray(at)]);
  }
  return bytes;
}

/** One connection to a proxy, which ends in one way or another. */
async function attack(random: SeededRandom, { http, socks }: Ports, port: number): Promise<void> {
  const isHttp = random.next() < 0.7;
  const bytes = isHttp ? request(random, port) : socksRequest(random, port);
  const socket = net.connect({ port: isHttp ? http : socks, host: "127.0.0.1", allowHalfOpen: true });
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  socket.on("error", () => {});
  if (random.next() < 0.8) socket.resume();
  const cut = random.between(0, bytes.length);
  socket.write(bytes.subarray(0, cut));
  await new Promise((resolve) => setTimeout(resolve, random.between(0, 20)));
  socket.write(bytes.subarray(cut));
  const end = random.pick(["end", "destroy", "reset", "wait"]);
  if (end === "end") socket.end();
  await new Promise((resolve) => setTimeout(resolve, random.between(0, 50)));
  if (end === "reset") socket.resetAndDestroy();
  else socket.destroy();
  await closed;
}

describe("the proxy of a process", () => {
  it("survives whatever a process and the hosts that it reaches say", () =>
    withSeed(async () => {
      const random = randomOf("network-proxy");
      await using target = await AttackedServer.start();
      const session = await target.session();
      const ports = await startProxied(session);
      await withLiar(random, async (port) => {
        for (let done = 0; done < ATTACKS * hostileRounds; done += AT_ONCE)
          await withDeadline(
            Promise.all(Array.from({ length: AT_ONCE }, () => attack(random, ports, port))),
            ATTACK_DEADLINE_MS,
            () => "the end of the attacks",
          );
        session.cut();
        await target.expectAtWork("after the attacks");
      });
      const last = await target.session();
      await last.request("process/start", {
        processId: "q",
        argv: ["true"],
        cwd: "file:///",
        env: {},
        tty: false,
      });
      last.cut();
      await target.expectPrompt("during the attacks");
      target.expectModest("during the attacks");
    }));

  it("does not let a process keep the server's descriptors, or fill its memory with questions", () =>
    withSeed(async () => {
      await using target = await AttackedServer.start({ through: ["prlimit", "--nofile=256:256"] });
      const questions: unknown[] = [];
      const session = await target.session((notification) => questions.push(notification));
      const { http, socks } = await startProxied(session, { policyDecisionTimeoutMs: 3_600_000 });
      const sockets = Array.from({ length: 2_000 }, (_, index) => {
        const socket = net.connect({ port: index % 2 === 0 ? http : socks, host: "127.0.0.1" });
        socket.on("error", () => {});
        // These questions are never answered.
        socket.write("GET http://asked.test/ HTTP/1.1\r\n\r\n".repeat(20));
        return socket.resume();
      });
      await target.expectAtWork("with 2000 connections to a proxy");
      await target.expectAtWork("with 2000 connections to a proxy, again");
      for (const socket of sockets) socket.destroy();
      expect(questions.length).toBeLessThan(50_000);
      await session.request("process/terminate", { processId: "p" });
      session.cut();
      await target.expectPrompt("with 2000 connections to a proxy");
      target.expectModest("with 2000 connections to a proxy");
    }));
});
