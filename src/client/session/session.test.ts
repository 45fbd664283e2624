import { afterEach, expect, test, vi } from "vitest";
import { ConnectionError, RpcError, UsageError } from "../../base/errors.ts";
import { type FakeLink, FakeServer } from "../../../test/fixtures/fake-server.ts";
import { silentLogger } from "../../base/logger.ts";
import { ClientSession, type SessionOptions } from "./session.ts";

const OPTIONS = {
  clientName: "test",
  connectTimeoutMs: 20_000,
  initializeTimeoutMs: 20_000,
  recoveryTimeoutMs: 20_000,
  answerTimeoutMs: Number.POSITIVE_INFINITY,
  logger: silentLogger,
};

afterEach(() => void vi.useRealTimers());

test("a connection that ends with the answer to its handshake is not used", async () => {
  const server = new FakeServer();
  server.answers["initialize"] = (_, link) => {
    link.cut("cut");
    return { sessionId: "session-1" };
  };
  await expect(ClientSession.open(server, OPTIONS)).rejects.toThrow(ConnectionError);
});

test("a new connection that ends before the session uses it is replaced by another", async () => {
  const { server, session, link } = await open();
  const initialize = server.answers["initialize"]!;
  server.answers["initialize"] = (params, next) => {
    if (server.links.length === 2) next.cut("cut");
    return initialize(params, next);
  };
  link.cut("cut");
  expect(await session.request("environment/status", null)).toEqual({ status: "ready" });
  expect(server.links.map(({ methods }) => methods)).toEqual([
    ["initialize"],
    ["initialize"],
    ["initialize", "environment/status"],
  ]);
  expect(session.connections).toBe(2);
  expect(session.state).toBe("connected");
});

test("a session knows its id, its server and what that supports", async () => {
  const { session, server } = await open({ extensions: ["process/resize"] });
  expect([session.id, session.environment?.shell.name, session.connections]).toEqual(["session-1", "sh", 1]);
  expect(["process/resize", "process/wait"].map((name) => session.supports(name))).toEqual([true, false]);
  expect(server.links[0]!.requests[0]).toEqual({
    method: "initialize",
    params: { clientName: "test", urgentInput: true },
  });
});

test("a session that is resumed from the start names it", async () => {
  const { server } = await open({}, { resumeSessionId: "session-1" });
  expect(server.links[0]!.requests[0]?.params).toMatchObject({ resumeSessionId: "session-1" });
});

test("the events of every process reach every feed in their order, until the session ends", async () => {
  const { session, link } = await open();
  const feeds = [session.events({}), session.events({})];
  for (const processId of ["a", "b"]) session.register(processId);
  link.notify("process/output", { processId: "b", seq: 1, stream: "stdout", chunk: "YQ==" });
  link.notify("process/exited", { processId: "a", seq: 1, exitCode: 3 });
  link.notify("process/closed", { processId: "a", seq: 2 });
  await session.close({ detach: true });
  for (const feed of feeds) {
    const seen: unknown[] = [];
    for await (const event of feed) seen.push(event);
    expect(seen).toMatchObject([
      { kind: "output", processId: "b" },
      { kind: "exited", processId: "a", exitCode: 3 },
      { kind: "closed", processId: "a" },
      { kind: "failed", processId: "b" },
    ]);
  }
  expect(await session.events({}).next()).toMatchObject({ done: true });
});

test("a feed that was left gets nothing more", async () => {
  const { session, link } = await open();
  const feed = session.events({});
  await feed.return();
  session.register("a");
  link.notify("process/output", { processId: "a", seq: 1, stream: "stdout", chunk: "YQ==" });
  expect(await feed.next()).toMatchObject({ done: true });
});

test.each([
  [["http/cancel"], [{ method: "http/cancel", params: { requestId: "http-1" } }]],
  [undefined, []],
])(
  "a server with the extensions %j is asked to stop a body that nobody wants: %j",
  async (extensions, asked) => {
    const { session, link } = await open({ extensions });
    const controller = new AbortController();
    session.bodies.open({ signal: controller.signal });
    controller.abort();
    expect(link.requests.slice(1)).toEqual(asked);
  },
);

test("nobody is asked to stop a body while the connection is lost", async () => {
  const { session, server, link } = await open({ extensions: ["http/cancel"] });
  const controller = new AbortController();
  link.cut("cut");
  session.bodies.open({ signal: controller.signal });
  controller.abort();
  await connectedAgain(session);
  expect(server.links.map(({ methods }) => methods)).toEqual([["initialize"], ["initialize"]]);
});

test("a process id is registered once at a time, and decides about its network as long", async () => {
  const { session, server, link } = await open();
  const route = session.register("a");
  expect(() => session.register("a")).toThrow(UsageError);
  session.serverRequests.decide("a", async () => ({ type: "allow" }));
  const ask = (): Promise<unknown> | undefined =>
    link.ask("network/policyRequest", {
      processId: "a",
      request: { protocol: "http", host: "h", port: 1 },
    });
  expect(await ask()).toMatchObject({ decision: { type: "allow" } });
  session.unregister(route, { orphan: false });
  expect(await ask()).toMatchObject({ decision: { type: "deny" } });
  const next = session.register("a");
  // It is forgotten already, and so nothing happens to the one that has its id.
  session.unregister(route, { orphan: false });
  expect(() => session.register("a")).toThrow("session already registered for process a");
  expect(next.finished).toBe(false);
  expect(server.links[0]!.methods).toEqual(["initialize"]);
});

test("a process of which nobody knows whether it was started is ended, now or on the next connection", async () => {
  const { session, server, link } = await open();
  session.unregister(session.register("a"), { orphan: true });
  expect(link.requests.at(-1)).toEqual({ method: "process/terminate", params: { processId: "a" } });
  await vi.waitFor(() => expect(link.answered).toBe(2));
  const route = session.register("b");
  link.cut("cut");
  session.unregister(route, { orphan: true });
  await connectedAgain(session);
  expect(server.links[1]!.requests.slice(1)).toEqual([
    { method: "process/terminate", params: { processId: "b" } },
  ]);
});

test.each([
  [["process/wait"], [{ code: 4012, reason: "" }]],
  [undefined, [undefined]],
])("a server with the extensions %j is left with %j, its processes ended", async (extensions, farewells) => {
  const { session, server, link } = await open({ extensions });
  const own = session.register("own");
  session.register("kept").kept = { name: "kept", mode: "control" };
  server.answers["process/terminate"] = () => {
    setImmediate(() => {
      // Its last events still have to arrive.
      expect(link.farewells).toEqual([]);
      link.notify("process/exited", { processId: "own", seq: 1, exitCode: 137 });
      link.notify("process/closed", { processId: "own", seq: 2 });
    });
    return { running: true };
  };
  const closing = session.close();
  expect(session.isClosing).toBe(true);
  await expect(session.request("environment/status", null)).rejects.toThrow("client was closed");
  expect(() => session.register("later")).toThrow("client was closed");
  await Promise.all([closing, session.close()]);
  expect(await own.exited).toMatchObject({ exitCode: 137 });
  expect(link.requests.slice(1)).toEqual([{ method: "process/terminate", params: { processId: "own" } }]);
  expect([link.farewells, link.destroyed]).toEqual([farewells, [undefined]]);
  expect(await session.closed).toEqual({ reason: undefined, code: undefined });
  expect(session.state).toBe("closed");
});

test("a session that is detached leaves its processes as they are", async () => {
  const { session, link } = await open({ extensions: ["process/wait"] });
  session.register("own");
  await session.close({ detach: true });
  expect([link.methods, link.farewells]).toEqual([["initialize"], [undefined]]);
});

test("a server that does not end the connection is left after a second", async () => {
  const { session, link } = await open({ endsWhenClosed: false });
  vi.useFakeTimers();
  const closing = session.close();
  await vi.advanceTimersByTimeAsync(999);
  expect(link.destroyed).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(link.destroyed).toEqual([undefined]);
  await closing;
});

test("a session that is closed while it recovers is over at once", async () => {
  const { session, server, link } = await open();
  server.opens = () => new Promise(() => {});
  link.cut("cut");
  expect(session.state).toBe("recovering");
  await session.close();
  expect(await session.closed).toEqual({ reason: undefined, code: undefined });
});

test.each([
  ["server that cannot be reached twice", { resumable: false }],
  ["server without sessions", { sessionId: "" }],
])("with a %s, the session ends with its connection", async (_, kind) => {
  const { session, server, link } = await open(kind);
  const states: string[] = [];
  session.onStateChange((state) => void states.push(state));
  const route = session.register("a");
  server.answers["fs/readFile"] = () => new Promise(() => {});
  const request = session.request("fs/readFile", { path: "file:///f" });
  link.cut("the cable is out");
  const reason = "exec-server transport disconnected: the cable is out";
  expect(await session.closed).toEqual({ reason, code: "CONNECTION_CLOSED" });
  await expect(request).rejects.toThrow(reason);
  await expect(route.exited).rejects.toThrow(reason);
  await expect(session.request("environment/status", null)).rejects.toThrow(reason);
  expect(() => session.register("b")).toThrow(reason);
  expect([states, server.links.length]).toEqual([["closed"], 1]);
});

test("a server that no longer has the session ends it", async () => {
  const { session, server, link } = await open();
  server.answers["initialize"] = () => {
    throw new RpcError(-32600, "unknown session session-1");
  };
  link.cut("cut");
  expect(await session.closed).toMatchObject({ code: "SESSION_LOST" });
  // Its id is a secret.
  expect((await session.closed).reason).not.toContain("session-1");
});

test("processes catch up on a new connection before anything else is sent, and the states are reported", async () => {
  const { session, server, link } = await open();
  const states: string[] = [];
  session.onStateChange((state) => void states.push(state));
  const started = session.register("a");
  started.started = true;
  session.register("not started yet");
  link.notify("process/output", { processId: "a", seq: 1, stream: "stdout", chunk: "YQ==" });
  server.answers["process/read"] = () => ({ ...READ, nextSeq: 3, chunks: [{ ...CHUNK, seq: 2 }] });
  link.cut("cut");
  const request = session.request("environment/status", null);
  await connectedAgain(session);
  expect(await request).toEqual({ status: "ready" });
  expect(server.links[1]!.requests).toEqual([
    { method: "initialize", params: expect.objectContaining({ resumeSessionId: "session-1" }) },
    { method: "process/read", params: { processId: "a", afterSeq: 1, maxBytes: null, waitMs: 0 } },
    { method: "environment/status", params: null },
  ]);
  expect([states, started.lastSeq]).toEqual([["recovering", "connected"], 2]);
});

test("a process that the server no longer knows is lost on its own, and ended in case it runs", async () => {
  const { session, server, link } = await open();
  const [lost, kept] = ["lost", "kept"].map((processId) => session.register(processId));
  for (const route of [lost!, kept!]) route.started = true;
  kept!.kept = { name: "kept", mode: "control" };
  server.answers["process/read"] = () => {
    throw new RpcError(-32600, "unknown process");
  };
  link.cut("cut");
  await connectedAgain(session);
  for (const route of [lost!, kept!]) await expect(route.exited).rejects.toThrow("failed to recover process");
  expect(server.links[1]!.requests.filter(({ method }) => method === "process/terminate")).toEqual([
    { method: "process/terminate", params: { processId: "lost" } },
  ]);
});

test("a connection that fails while processes catch up is given up, and the next one is tried", async () => {
  const { session, server, link } = await open();
  const route = session.register("a");
  route.started = true;
  server.answers["process/read"] = () => {
    if (server.links.length === 2) throw new ConnectionError("cut again");
    return READ;
  };
  link.cut("cut");
  await connectedAgain(session);
  expect(server.links.map(({ destroyed }) => destroyed.length)).toEqual([0, 1, 0]);
  expect([route.finished, session.connections]).toEqual([false, 2]);
});

test("what a server must not say about a process fails the process, which is ended, and nothing else", async () => {
  const { session, link } = await open();
  const [wrong, kept, other] = ["wrong", "kept", "other"].map((processId) => session.register(processId));
  kept!.kept = { name: "kept", mode: "follow" };
  for (const processId of ["wrong", "kept"]) link.notify("process/exited", { processId, seq: "1" });
  for (const route of [wrong!, kept!])
    await expect(route.exited).rejects.toMatchObject({ code: "PROTOCOL_ERROR" });
  expect(link.requests.slice(1)).toEqual([{ method: "process/terminate", params: { processId: "wrong" } }]);
  expect([other!.finished, link.destroyed]).toEqual([false, []]);
});

test("what a server must not say at all ends the connection", async () => {
  const { link } = await open();
  link.notify("process/exited", { processId: 7 });
  expect(link.destroyed).toHaveLength(1);
});

test.each([true, false])(
  "dropped events are read again on the connection, whether the start was answered: %s",
  async (started) => {
    const { session, server, link } = await open();
    const route = session.register("a");
    route.started = started;
    server.answers["process/read"] = () => ({ ...READ, nextSeq: 2, chunks: [CHUNK] });
    link.notify("process/gap", { processId: "a", fromSeq: 1, toSeq: 1 });
    await vi.waitFor(() => expect(route.lastSeq).toBe(1));
    expect(link.requests.at(-1)).toEqual({
      method: "process/read",
      params: { processId: "a", afterSeq: 0, maxBytes: null, waitMs: 0 },
    });
    // Without a connection, they wait for the next one.
    server.opens = () => new Promise(() => {});
    link.cut("cut");
    expect(session.overdue(route)).toBe(false);
    await session.close();
  },
);

test("a session has 1024 unanswered calls at most, with processes that are to be ended", async () => {
  const { session, server } = await open();
  server.answers["process/terminate"] = () => new Promise(() => {});
  server.answers["environment/status"] = () => new Promise(() => {});
  session.unregister(session.register("a"), { orphan: true });
  for (let count = 0; count < 1_023; count += 1) void session.request("environment/status", null);
  await expect(session.request("environment/status", null)).rejects.toMatchObject({ code: "LIMIT_REACHED" });
});

test("a reader that is behind pauses the connection of a server without flow control, and closing ends that", async () => {
  const { session, link } = await open();
  session.register("a");
  session.hold("a", true);
  expect(link.isPaused).toBe(true);
  session.hold("a", false);
  expect(link.isPaused).toBe(false);
  session.hold("a", true);
  await session.close({ detach: true });
  expect(link.isPaused).toBe(false);
});

test("a process whose reader is behind is resumed by closing, and not held again", async () => {
  const { session, link } = await open({ extensions: ["process/flow"] });
  session.register("a");
  session.hold("a", true);
  const closing = session.close({ detach: true });
  session.hold("a", true);
  await closing;
  expect(link.requests.slice(1)).toEqual([
    { method: "process/flow", params: { processId: "a", paused: true } },
    { method: "process/flow", params: { processId: "a", paused: false } },
  ]);
});

const CHUNK = { seq: 1, stream: "stdout", chunk: "YQ==" };
const READ = {
  chunks: [],
  nextSeq: 1,
  exited: false,
  exitCode: null,
  closed: false,
  failure: null,
  sandboxDenied: false,
};

async function open(
  kind: Partial<Pick<FakeServer, "resumable" | "sessionId" | "extensions" | "endsWhenClosed">> = {},
  options: Partial<SessionOptions> = {},
): Promise<{ server: FakeServer; session: ClientSession; link: FakeLink }> {
  const server = Object.assign(new FakeServer(), kind);
  const session = await ClientSession.open(server, { ...OPTIONS, ...options });
  return { server, session, link: server.links[0]! };
}

/** Resolves when a session that has lost its connection has another. */
async function connectedAgain(session: ClientSession): Promise<void> {
  expect(session.state).toBe("recovering");
  await vi.waitFor(() => expect(session.state).toBe("connected"), 20_000);
  await new Promise(setImmediate);
}
