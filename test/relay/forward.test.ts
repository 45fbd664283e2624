import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import type { Transport } from "../../src/transport/transport.ts";
import { launch, type ServerKind, type ServerProcess } from "../conformance/server-process.ts";
import { pollUntil, withDeadline } from "../fault/deadline.ts";
import { EXECUTOR_TOKEN, TestRelay } from "./relay-fixture.ts";

const DEADLINE_MS = 60_000;
const MIB = 1024 * 1024;

/** A destination that does nothing by itself. */
let http: Server;
let destination: string;
let relay: TestRelay;
/** Connections to the destination, and what it does with the next. */
let sockets: WebSocket[];
let upgrade: (accept: () => void, socket: Duplex) => void;
const started: ServerProcess[] = [];

beforeEach(async () => {
  sockets = [];
  upgrade = (accept) => accept();
  const webSockets = new WebSocketServer({ noServer: true });
  http = createServer();
  http.on("upgrade", (request, socket, head) => {
    if (request.url === "/there?is=more")
      upgrade(
        () => webSockets.handleUpgrade(request, socket, head, (webSocket) => sockets.push(webSocket)),
        socket,
      );
  });
  await new Promise<void>((resolve) => void http.listen(0, "127.0.0.1", resolve));
  destination = `ws://127.0.0.1:${(http.address() as AddressInfo).port}/there?is=more`;
  relay = await TestRelay.start();
});

afterEach(async () => {
  await Promise.all(started.splice(0).map((server) => server.stop("SIGKILL")));
  await relay[Symbol.asyncDispose]();
  for (const webSocket of sockets) webSocket.terminate();
  http.closeAllConnections();
  http.close();
});

async function start(kind: ServerKind, args: readonly string[], stdin?: string): Promise<ServerProcess> {
  const env = { CODEX_API_KEY: EXECUTOR_TOKEN, RUST_BACKTRACE: "0" };
  const server = await launch(kind, ["forward", ...args], { env });
  started.push(server);
  if (stdin !== undefined) server.child.stdin!.end(stdin);
  return server;
}

const remote = (): string[] => ["--remote", relay.base, "--environment-id", "f"];

async function forward(kind: ServerKind): Promise<ServerProcess> {
  const server = await start(kind, ["--connect", destination, ...remote()]);
  await pollUntil(
    () => [...relay.service.environments].some(({ isOnline }) => isOnline),
    DEADLINE_MS,
    () => `its registration: ${server.stderr}`,
  );
  return server;
}

interface Client {
  readonly transport: Transport;
  readonly messages: string[];
  readonly closed: Promise<void>;
}

async function connect(): Promise<Client> {
  const transport = await (await relay.reach("f"))();
  const messages: string[] = [];
  const closed = new Promise<void>((resolve) =>
    transport.open({ message: (text) => messages.push(text), drain: () => {}, close: () => resolve() }),
  );
  return { transport, messages, closed };
}

const connection = (index = 0): Promise<WebSocket> =>
  pollUntil(
    () => sockets[index] ?? false,
    DEADLINE_MS,
    () => "a connection to the destination",
  );
const soon = <T>(promise: Promise<T>, what: string): Promise<T> =>
  withDeadline(promise, DEADLINE_MS, () => what);

describe.each<ServerKind>(["ours", "codex"])("forward of %s", (kind) => {
  it("passes on whole messages in both directions, on a connection for each client", async () => {
    const server = await forward(kind);
    const clients = [await connect(), await connect()];
    const webSockets = [await connection(0), await connection(1)];
    for (const [index, webSocket] of webSockets.entries())
      webSocket.on("message", (data: RawData) => {
        const text = (data as Buffer).toString();
        webSocket.send(`${index} heard ${text.length > 9 ? text.length : text}`);
      });
    const [first, second] = clients as [Client, Client];
    first.transport.send("one");
    second.transport.send("two");
    first.transport.send("x".repeat(9 * MIB));
    await pollUntil(
      () => first.messages.length === 2 && second.messages.length === 1,
      DEADLINE_MS,
      () => "the answers",
    );
    const heard = [...first.messages, ...second.messages].map((text) => text.slice(1));
    expect(heard).toEqual([" heard one", ` heard ${9 * MIB}`, " heard two"]);
    webSockets[0]!.send(Buffer.from("binary"));
    webSockets[1]!.send(Buffer.from("binary"));
    webSockets[0]!.send("y".repeat(17 * MIB));
    await pollUntil(
      () => clients.every(({ messages }) => messages.includes("binary")),
      DEADLINE_MS,
      () => "binary messages",
    );
    await pollUntil(
      () => clients.some(({ messages }) => messages.at(-1)?.length === 17 * MIB),
      DEADLINE_MS,
      () => "a long message",
    );
    server.child.kill("SIGTERM");
    expect(await soon(server.exited, "its end")).toMatchObject({ code: 0 });
  });

  it("ends the client with the destination, after its last words, and the destination with the client", async () => {
    await forward(kind);
    const client = await connect();
    const webSocket = await connection();
    webSocket.send("last words");
    webSocket.close(4000, "bye");
    await soon(client.closed, "the client's end");
    expect(client.messages).toEqual(["last words"]);
    const other = await connect();
    const closed = once(await connection(1), "close");
    other.transport.close();
    await soon(closed, "the destination's end");
  });

  it("ends a client of a destination that refuses, and serves the next", async () => {
    await forward(kind);
    upgrade = (_accept, socket) => socket.end("HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n");
    await soon((await connect()).closed, "its end");
    upgrade = (accept) => accept();
    const client = await connect();
    (await connection()).send("hello");
    await pollUntil(
      () => client.messages[0] === "hello",
      DEADLINE_MS,
      () => "a message",
    );
  });

  it("ends a client whose destination does not answer for ten seconds, or sends an empty message", async () => {
    await forward(kind);
    upgrade = () => {};
    // The executor asks the destination before the client knows that it is connected.
    const since = performance.now();
    const client = await connect();
    await soon(client.closed, "its end");
    expect(performance.now() - since).toBeGreaterThan(9_000);
    upgrade = (accept) => accept();
    const other = await connect();
    (await connection()).send("");
    await soon(other.closed, "its end");
  });

  it.each([
    [
      "nothing else",
      () => [],
      2,
      "error: the following required arguments were not provided:\n  --remote <URL>\n  --environment-id <ID>\n  --connect <URL>\n",
    ],
    [
      "no destination",
      () => remote(),
      2,
      "error: the following required arguments were not provided:\n  --connect <URL>\n",
    ],
    ["no relay", () => ["--connect", destination], 2, "--remote <URL>\n  --environment-id <ID>\n"],
    [
      "a listener",
      () => ["--listen", "ws://127.0.0.1:0"],
      2,
      "error: unexpected argument '--listen' found\n",
    ],
    [
      "another scheme",
      () => ["--connect", "http://x", ...remote()],
      1,
      "Error: failed to configure exec-server websocket: forward destination must be a ws:// or wss:// URL\n",
    ],
    [
      "no URL",
      () => ["--connect", "x", ...remote()],
      1,
      "Error: failed to configure exec-server websocket: ",
    ],
    [
      "two credentials",
      () => [
        "--connect",
        destination,
        ...remote(),
        "--executor-credential-stdin",
        "--registration-bearer-stdin",
      ],
      2,
      "error: the argument '--executor-credential-stdin' cannot be used with '--registration-bearer-stdin'\n",
    ],
    [
      "a ChatGPT token",
      () => ["--connect", destination, ...remote(), "--chatgpt-token-stdin"],
      2,
      "error: unexpected argument '--chatgpt-token-stdin' found\n",
    ],
    [
      "an unknown credential",
      () => ["--connect", destination, ...remote(), "--registration-bearer-stdin"],
      1,
      kind === "ours"
        ? "Error: the relay refused the token (401)\n"
        : "Error: environment registry authentication error: environment registry authentication failed (401 Unauthorized): response body omitted\n",
    ],
  ])("with %s is refused", async (_what, args, code, said) => {
    const server = await start(kind, args(), "unknown\n");
    expect(await soon(server.exited, "its end")).toMatchObject({ code });
    expect(server.stderr).toContain(said);
  });

  it("ends with stdin if it is asked to", async () => {
    const server = await start(kind, ["--connect", destination, ...remote(), "--exit-on-stdin-close"], "");
    expect(await soon(server.exited, "its end")).toMatchObject({ code: 0 });
  });
});
