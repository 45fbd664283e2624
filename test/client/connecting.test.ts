import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import http from "node:http";
import net, { type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { ConnectionError, RpcError, UsageError } from "../../src/base/errors.ts";
import { connect } from "../../src/client/host/connect.ts";
import type { Host } from "../../src/client/host/host.ts";
import { connectLazily } from "../../src/client/host/lazy.ts";
import { pollUntil, withDeadline } from "../fault/deadline.ts";
import { isAlive } from "../fault/proc-fs.ts";
import { startServer } from "../fault/server-under-test.ts";
import { measureRunningTime } from "../fixtures/running-time.ts";
import { FakeServer, Refusal, someEnvironment, unanswered } from "./fake-server.ts";

// How connections begin and end: messages, timeouts, signals, and commands that serve on stdio.

const DEADLINE_MS = 20_000;
const cli = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));
const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function keep(host: Host): Host {
  cleanups.push(() => host.close());
  return host;
}

function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "exec-server-client-"));
  cleanups.push(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** A port that takes connections; `serve` decides what becomes of them. */
async function listen(serve: (socket: net.Socket) => void): Promise<string> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket.on("error", () => {}));
    serve(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const inTime = <T>(promise: Promise<T>, what: string): Promise<T> =>
  withDeadline(promise, DEADLINE_MS, () => what);

const readPid = (path: string): Promise<number> =>
  pollUntil(
    () => {
      try {
        return Number(readFileSync(path, "utf8").trim()) || false;
      } catch {
        return false;
      }
    },
    DEADLINE_MS,
    () => `a pid in ${path}`,
  );

const gone = (pid: number): Promise<unknown> =>
  pollUntil(
    () => !isAlive(pid),
    DEADLINE_MS,
    () => `the end of process ${pid}`,
  );

test("a server that does not complete the WebSocket handshake is given up with its URL and the time", async () => {
  const url = await listen(() => {});
  const connecting = connect(url, { connectTimeoutMs: 1_000 });
  await expect(connecting).rejects.toBeInstanceOf(ConnectionError);
  await expect(connecting).rejects.toThrow(
    new ConnectionError(`timed out connecting to exec-server websocket \`${url}\` after 1s`, {
      code: "TIMED_OUT",
    }),
  );
});

test("a connect timeout below a second is reported in milliseconds", async () => {
  const url = await listen(() => {});
  await expect(connect(url, { connectTimeoutMs: 150 })).rejects.toThrow(
    `timed out connecting to exec-server websocket \`${url}\` after 150ms`,
  );
});

test("a port without a listener is an error with its URL and the reason", async () => {
  const url = await listen(() => {});
  for (const cleanup of cleanups.splice(0)) await cleanup();
  await expect(connect(url)).rejects.toMatchObject({
    code: "CONNECTION_REFUSED",
    errno: "ECONNREFUSED",
    message: `failed to connect to exec-server websocket \`${url}\`: connect ECONNREFUSED 127.0.0.1:${new URL(url).port}`,
  });
  await expect(connect("ws+unix:///nobody/listens")).rejects.toMatchObject({ code: "CONNECTION_REFUSED" });
});

test("a host without an address has a code of its own", async () => {
  await expect(connect("ws://nowhere.invalid:7070")).rejects.toMatchObject({ code: "UNKNOWN_HOST" });
});

test("what is no server is the caller's mistake, and says what would be one", async () => {
  const nothing: unknown[] = [undefined, null, 7070];
  for (const target of nothing)
    await expect(connect(target as string)).rejects.toThrow(
      `connect needs a server, not ${String(target)}: a URL such as ws://127.0.0.1:7070, or { command: [program, …] }`,
    );
  for (const [url, right] of [
    ["http://127.0.0.1:7070", "ws://127.0.0.1:7070"],
    ["HTTPS://user:secret@build.example/x?token=1", "wss://build.example/x"],
  ])
    for (const target of [url!, new URL(url!)])
      await expect(connect(target)).rejects.toThrow(
        ` is the address of a web page; the server's is ${right}`,
      );
  await expect(connect("http://127.0.0.1:1")).rejects.toBeInstanceOf(UsageError);
});

test("a server that refuses the upgrade is an error with its status", async () => {
  const server = http.createServer((_request, response) => response.writeHead(401).end());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanups.push(() => server.close());
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await expect(connect(url)).rejects.toMatchObject({
    code: "UNAUTHORIZED",
    status: 401,
    message: `failed to connect to exec-server websocket \`${url}\`: HTTP 401 Unauthorized`,
  });
});

test("a URL that is none is the caller's mistake", async () => {
  const attempt = (async () => connect("not a url"))();
  await expect(attempt).rejects.toBeInstanceOf(UsageError);
});

test.each([
  [1_000, "1s"],
  [250, "250ms"],
])(
  "a server that does not answer initialize within %i ms is given up",
  async (initializeTimeoutMs, message) => {
    const server = new FakeServer();
    server.answers.set("initialize", () => unanswered);
    const connecting = connect(server.open, { initializeTimeoutMs });
    await expect(connecting).rejects.toMatchObject({
      code: "TIMED_OUT",
      message: `timed out waiting for exec-server initialize handshake after ${message}`,
    });
    await inTime(server.connections[0]!.closed, "the end of the connection");
  },
);

test("the wait for initialize is not the wait for the connection", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const server = new FakeServer();
  const connecting = connect(
    async () => {
      await new Promise((resolve) => setTimeout(resolve, 150));
      return server.open();
    },
    { initializeTimeoutMs: 100 },
  );
  await vi.advanceTimersByTimeAsync(150);
  expect(keep(await connecting).sessionId).toBe("session-1");
});

test("a refused initialize is the server's error, and the connection is closed", async () => {
  const server = new FakeServer();
  server.answers.set("initialize", () => new Refusal(-32600, "unknown session id gone"));
  const connecting = connect(server.open, { resumeSessionId: "gone" });
  await expect(connecting).rejects.toBeInstanceOf(RpcError);
  await expect(connecting).rejects.toMatchObject({ rpcCode: -32600, message: "unknown session id …" });
  await inTime(server.connections[0]!.closed, "the end of the connection");
  expect(server.attempts).toBe(1);
});

test("an older server, which answers initialize with nothing, is used, and its loss is the end", async () => {
  const server = new FakeServer();
  server.answers.set("initialize", () => ({}));
  const host = keep(await connect(server.open));
  expect(host.sessionId).toBe("");
  const running = host.start(["any"]);
  const { params } = await server.connections[0]!.request("process/start");
  const process = await inTime(running, "the start");
  expect(process.id).toBe(params["processId"]);
  server.connections[0]!.cut();
  expect(await inTime(host.closed, "the end")).toMatchObject({ code: "CONNECTION_CLOSED" });
  expect(server.attempts).toBe(1);
});

test.each([[[]], ["text"], [{ sessionId: null }], [{ sessionId: 5 }]])(
  "an answer to initialize like %j is a protocol error",
  async (answer) => {
    const server = new FakeServer();
    server.answers.set("initialize", () => answer);
    await expect(connect(server.open)).rejects.toMatchObject({ code: "PROTOCOL_ERROR" });
    await inTime(server.connections[0]!.closed, "the end of the connection");
  },
);

test("an older server has no session to resume", async () => {
  const server = new FakeServer();
  server.answers.set("initialize", () => ({}));
  const connecting = connect(server.open, { resumeSessionId: "wanted" });
  await expect(connecting).rejects.toMatchObject({ code: "PROTOCOL_ERROR" });
});

test("the session of another client that is still connected cannot be resumed, and can be told apart", async () => {
  await using server = await startServer();
  const owner = keep(await connect(server.url));
  const second = connect(server.url, { resumeSessionId: owner.sessionId });
  await expect(second).rejects.toBeInstanceOf(RpcError);
  await expect(second).rejects.toMatchObject({ rpcCode: -32010 });
  const stranger = connect(server.url, { resumeSessionId: crypto.randomUUID() });
  await expect(stranger).rejects.toMatchObject({ rpcCode: -32600 });
  expect((await owner.run(["echo", "still here"])).stdout).toBe("still here\n");
});

test("connecting stops as soon as its signal aborts: before, during the connection, during initialize", async () => {
  const reason = new Error("no longer wanted");
  const server = new FakeServer();
  await expect(connect(server.open, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);

  let accepted: () => void = () => {};
  const arrived = new Promise<void>((resolve) => {
    accepted = resolve;
  });
  let ended: () => void = () => {};
  const left = new Promise<void>((resolve) => {
    ended = resolve;
  });
  const url = await listen((socket) => {
    accepted();
    socket.on("close", ended).resume();
  });
  const during = new AbortController();
  const connecting = connect(url, { signal: during.signal });
  await inTime(arrived, "the connection");
  during.abort(reason);
  await expect(connecting).rejects.toBe(reason);
  await inTime(left, "the end of the socket");

  const silent = new FakeServer();
  silent.answers.set("initialize", () => unanswered);
  const late = new AbortController();
  const initializing = connect(silent.open, { signal: late.signal });
  await (await silent.connection()).request("initialize");
  late.abort(reason);
  await expect(initializing).rejects.toBe(reason);
  await inTime(silent.connections[0]!.closed, "the end of the connection");
});

test("the signal of connecting has no power over the host", async () => {
  const server = new FakeServer();
  const controller = new AbortController();
  const host = keep(await connect(server.open, { signal: controller.signal }));
  controller.abort();
  await expect(host.request("environment/info", {})).resolves.toEqual(someEnvironment);
});

test("requests, starts, runs and readers end with the reason of their signal", async () => {
  const server = new FakeServer();
  const host = keep(await connect(server.open));
  const connection = await server.connection();
  const reason = new Error("enough");
  const aborted = AbortSignal.abort(reason);
  const sentBefore = connection.requests.length;
  await expect(host.request("environment/info", {}, { signal: aborted })).rejects.toBe(reason);
  expect(connection.requests).toHaveLength(sentBefore);

  server.answers.set("environment/info", () => unanswered);
  const requested = new AbortController();
  const request = host.request("environment/info", {}, { signal: requested.signal });
  await connection.request("environment/info");
  requested.abort(reason);
  await expect(request).rejects.toBe(reason);

  const process = await host.start(["any"], { processId: "p", stdin: "pipe" });
  const reading = new AbortController();
  const next = process.output({ signal: reading.signal }).next();
  const waited = process.wait({ signal: reading.signal });
  const woken = process.woken(process.wake, { signal: reading.signal });
  const events = process.events({ signal: reading.signal }).next();
  server.answers.set("process/write", () => unanswered);
  const written = process.write("x", { signal: reading.signal });
  const collected = process.communicate(undefined, { signal: reading.signal });
  reading.abort(reason);
  for (const promise of [next, waited, woken, events, written, collected])
    await expect(promise).rejects.toBe(reason);
  expect(connection.requests.filter(({ method }) => method === "process/terminate")).toEqual([]);
});

test("a signal given to start kills the process", async () => {
  const server = new FakeServer();
  const host = keep(await connect(server.open));
  const connection = await server.connection();
  const controller = new AbortController();
  await host.start(["any"], { processId: "p", signal: controller.signal });
  controller.abort();
  expect((await connection.request("process/terminate")).params).toEqual({ processId: "p" });
});

test("a start that is given up before its answer is terminated", async () => {
  const server = new FakeServer();
  server.answers.set("process/start", () => unanswered);
  const host = keep(await connect(server.open));
  const connection = await server.connection();
  const controller = new AbortController();
  const reason = new Error("changed my mind");
  const starting = host.start(["any"], { processId: "p", signal: controller.signal });
  await connection.request("process/start");
  controller.abort(reason);
  await expect(starting).rejects.toBe(reason);
  expect((await connection.request("process/terminate")).params).toEqual({ processId: "p" });
});

test("a start whose signal has aborted before is not sent", async () => {
  const server = new FakeServer();
  const host = keep(await connect(server.open));
  const reason = new Error("too late");
  await expect(host.start(["any"], { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  await expect(host.run(["any"], { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  await host.request("environment/info", {});
  const methods = server.connections[0]!.requests.map(({ method }) => method);
  expect(methods).toEqual(["initialize", "environment/info"]);
});

test("a run whose signal aborts rejects with the reason and kills the process", async () => {
  const server = new FakeServer();
  const host = keep(await connect(server.open));
  const connection = await server.connection();
  const controller = new AbortController();
  const reason = new Error("stop");
  const running = host.run(["any"], { processId: "p", signal: controller.signal });
  await connection.request("process/start");
  await host.request("environment/info", {});
  controller.abort(reason);
  await expect(running).rejects.toBe(reason);
  expect((await connection.request("process/terminate")).params).toEqual({ processId: "p" });
});

test("lazy callers share one attempt, a failed one is not kept, and an ended session is replaced", async () => {
  const server = new FakeServer();
  const lazy = connectLazily(() => connect(server.open));
  cleanups.push(() => lazy.close());
  expect(server.attempts).toBe(0);
  server.refusal = new ConnectionError("down");
  const failures = await Promise.allSettled([lazy.get(), lazy.get()]);
  expect(failures.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(server.attempts).toBe(1);
  server.refusal = undefined;
  const hosts = await Promise.all([lazy.get(), lazy.get(), lazy.get()]);
  expect(new Set(hosts).size).toBe(1);
  expect(server.attempts).toBe(2);
  await hosts[0].close();
  const next = await lazy.get();
  expect(next).not.toBe(hosts[0]);
  expect(server.attempts).toBe(3);
  await lazy.close();
  expect(next.state).toBe("closed");
});

test("a stdio server and what it has in the background are gone soon after close", async () => {
  const directory = temporaryDirectory();
  const script = `sleep 60 & echo $! > ${directory}/background; echo $$ > ${directory}/server; exec "$0" "$@"`;
  const host = await connect({
    command: ["/bin/sh", "-c", script, process.execPath, cli, "--listen", "stdio"],
  });
  const server = await readPid(join(directory, "server"));
  const background = await readPid(join(directory, "background"));
  expect((await host.run(["echo", "up"])).stdout).toBe("up\n");
  const ran = measureRunningTime();
  await host.close();
  await gone(server);
  await gone(background);
  // Whatever does not end when it is asked to is killed after 2 s.
  expect(ran()).toBeLessThan(2_000);
});

test("a stdio server that ignores every polite way to end is killed", async () => {
  const directory = temporaryDirectory();
  // It answers initialize, then stays whatever happens.
  const answer = `{"id":1,"result":{"sessionId":"stubborn"}}`;
  const script = `trap "" TERM HUP INT; echo $$ > ${directory}/server; read line; echo '${answer}'; while :; do sleep 0.1; done`;
  const host = await connect({ command: ["/bin/sh", "-c", script] });
  const server = await readPid(join(directory, "server"));
  await host.close();
  await gone(server);
});

test("a stdio server that answers what is no JSON makes connecting fail and is killed", async () => {
  const directory = temporaryDirectory();
  const script = `sleep 60 & echo $! > ${directory}/background; echo $$ > ${directory}/server; read line; echo not-json; sleep 60`;
  const connecting = connect({ command: ["/bin/sh", "-c", script] });
  await expect(connecting).rejects.toBeInstanceOf(ConnectionError);
  await expect(connecting).rejects.toThrow(
    /^exec-server transport disconnected: failed to parse JSON-RPC message/,
  );
  await gone(await readPid(join(directory, "server")));
  await gone(await readPid(join(directory, "background")));
});

test("a stdio server that says nothing is killed when connecting is given up", async () => {
  const directory = temporaryDirectory();
  const connecting = connect(
    { command: ["/bin/sh", "-c", `echo $$ > ${directory}/server; sleep 60`] },
    // Time enough for a shell to write its number.
    { initializeTimeoutMs: 3_000 },
  );
  await expect(connecting).rejects.toThrow("timed out waiting for exec-server initialize handshake after 3s");
  await gone(await readPid(join(directory, "server")));
});

test("a stdio server that dies fails the session, which is not recovered", async () => {
  const host = keep(await connect({ command: [process.execPath, cli, "--listen", "stdio"] }));
  const parent = await host.start(["/bin/sh", "-c", "echo $PPID; sleep 60"]);
  const { value } = await parent.output().next();
  process.kill(Number(Buffer.from((value as { bytes: Uint8Array }).bytes).toString()), "SIGKILL");
  const { reason } = await inTime(host.closed, "the end of the session");
  expect(reason).toMatch(/^exec-server transport disconnected/);
  await expect(parent.exited).rejects.toBeInstanceOf(ConnectionError);
});

test("a stdio server has this program's environment and the variables of `env`", async () => {
  const command = [process.execPath, cli, "--listen", "stdio"] as const;
  const host = keep(await connect({ command, env: { ADDED: "added", HOME: undefined } }));
  const script = 'echo "$ADDED,${HOME-none},$PATH"';
  expect((await host.run(["/bin/sh", "-c", script])).stdout).toBe(`added,none,${process.env["PATH"]}\n`);
});

test("a command that does not exist is an error that names it", async () => {
  await expect(connect({ command: ["/no/such/server"] })).rejects.toThrow(
    "failed to start /no/such/server: spawn /no/such/server ENOENT",
  );
});
