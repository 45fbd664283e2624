import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { ConnectionError } from "../../src/base/errors.ts";
import { connect } from "../../src/client/host/connect.ts";
import type { ConnectOptions } from "../../src/client/host/open-host.ts";
import type { Host } from "../../src/client/host/host.ts";
import type { ProcessEvent } from "../../src/client/routes/process-events.ts";
import { pollUntil, withDeadline } from "../fault/deadline.ts";
import { measureRunningTime } from "../fixtures/running-time.ts";
import { chunkOf, emptyRead, FakeServer, Refusal, someEnvironment, unanswered } from "./fake-server.ts";

// A lost connection is replaced: what the client requests, what it keeps, and when it gives up.

const DEADLINE_MS = 20_000;
const hosts: Host[] = [];

afterEach(async () => {
  await inTime(Promise.all(hosts.splice(0).map((host) => host.close())), "the end of the hosts");
});

async function open(server: FakeServer, options: ConnectOptions = {}): Promise<Host> {
  const host = await connect(server.open, options);
  hosts.push(host);
  return host;
}

const inTime = <T>(promise: Promise<T>, what: string): Promise<T> =>
  withDeadline(promise, DEADLINE_MS, () => what);

async function allOf(events: AsyncIterable<ProcessEvent>): Promise<ProcessEvent[]> {
  const seen: ProcessEvent[] = [];
  const reading = (async () => {
    for await (const event of events) seen.push(event);
  })();
  await inTime(reading, "the end of the events");
  return seen;
}

const textOf = (events: readonly ProcessEvent[]): string =>
  events.map((event) => (event.kind === "output" ? Buffer.from(event.bytes).toString() : "")).join("");

/** Cuts the newest connection and leaves the server unreachable until further notice. */
async function strand(server: FakeServer, host: Host): Promise<void> {
  server.refusal = new ConnectionError("unreachable");
  const recovering = nextState(host, "recovering");
  server.connections.at(-1)!.cut();
  await inTime(recovering, "the loss");
}

function nextState(host: Host, wanted: string): Promise<void> {
  return new Promise((resolve) => {
    const stop = host.onStateChange((state) => {
      if (state !== wanted) return;
      stop();
      resolve();
    });
  });
}

test("the session is resumed by its id, and what happened meanwhile is read after the last known event", async () => {
  const server = new FakeServer();
  const host = await open(server, { clientName: "tester" });
  const process = await host.start(["any"], { processId: "p" });
  const [first] = server.connections;
  first!.output("p", 1, "one ");
  first!.output("p", 2, "two ");
  server.answers.set("process/read", () => ({
    ...emptyRead,
    chunks: [chunkOf(3, "three "), chunkOf(5, "five ")],
    nextSeq: 7,
    exited: true,
    exitCode: 4,
    closed: true,
  }));
  const events = allOf(process.events());
  first!.cut();
  const second = await server.connection(2);
  const read = await second.request("process/read");
  expect(second.requests[0]).toMatchObject({
    id: 1,
    method: "initialize",
    params: { clientName: "tester", urgentInput: true, resumeSessionId: "session-1" },
  });
  expect(read.params).toEqual({ processId: "p", afterSeq: 2, maxBytes: null, waitMs: 0 });
  expect(second.notifications).toEqual(["initialized"]);
  const seen = await events;
  expect(textOf(seen)).toBe("one two three five ");
  expect(seen.filter(({ kind }) => kind !== "output")).toEqual([
    { kind: "exited", seq: 4, exitCode: 4, sandboxDenied: false },
    { kind: "closed", seq: 6 },
  ]);
});

test("events that arrive on the new connection before its reads are answered are merged, each once", async () => {
  const server = new FakeServer();
  const host = await open(server);
  const process = await host.start(["any"], { processId: "p" });
  server.connections[0]!.output("p", 1, "1 ");
  server.answers.set("process/read", () => unanswered);
  const events = allOf(process.events());
  server.connections[0]!.cut();
  const second = await server.connection(2);
  const read = await second.request("process/read");
  second.output("p", 4, "4 ");
  second.output("p", 3, "3 ");
  second.answer(read, { ...emptyRead, chunks: [chunkOf(2, "2 "), chunkOf(3, "3 ")], nextSeq: 4 });
  second.exited("p", 5);
  second.closedProcess("p", 6);
  expect(textOf(await events)).toBe("1 2 3 4 ");
});

test("a flood on the new connection, before the client has begun to catch up, does not stop the recovery", async () => {
  const server = new FakeServer();
  const host = await open(server);
  const process = await host.start(["any"], { processId: "p" });
  const numbers = Array.from({ length: 400 }, (_, index) => chunkOf(index + 1, `${index + 1} `));
  server.answers.set("process/read", ({ afterSeq }) => ({
    ...emptyRead,
    chunks: numbers.filter(({ seq }) => seq > afterSeq),
    nextSeq: 401,
  }));
  server.answers.set("initialize", ({ resumeSessionId }, connection) => {
    // All in one go with the answer, as one read from a socket can bring it.
    const request = connection.requests.at(-1)!;
    connection.answer(request, { sessionId: "session-1" });
    if (resumeSessionId !== undefined)
      for (let seq = 2; seq <= 400; seq += 1) connection.output("p", seq, `${seq} `);
    return unanswered;
  });
  const connected = nextState(host, "connected");
  server.connections[0]!.cut();
  await inTime(connected, "the recovery");
  const second = await server.connection(2);
  second.exited("p", 401);
  second.closedProcess("p", 402);
  expect(textOf(await allOf(process.events()))).toBe(numbers.map((_, index) => `${index + 1} `).join(""));
});

test("changes of state can be seen", async () => {
  const server = new FakeServer();
  const host = await open(server);
  const states: string[] = [host.state];
  host.onStateChange((state) => states.push(state));
  const unheard: string[] = [];
  host.onStateChange((state) => unheard.push(state))();
  const connected = nextState(host, "connected");
  server.connections[0]!.cut();
  await inTime(connected, "the recovery");
  await host.close();
  expect(states).toEqual(["connected", "recovering", "connected", "closed"]);
  expect(unheard).toEqual([]);
  expect(await host.closed).toEqual({ reason: undefined });
});

test("requests made while recovering wait, and can be given up", async () => {
  const server = new FakeServer();
  const host = await open(server);
  server.answers.set("environment/info", () => ({ ...someEnvironment, executorVersion: "late" }));
  await strand(server, host);
  const asked = host.request("environment/info", {});
  const aborted = host.request("environment/info", {}, { signal: AbortSignal.timeout(10) });
  await expect(aborted).rejects.toMatchObject({ name: "TimeoutError" });
  server.refusal = undefined;
  expect(await inTime(asked, "the answer")).toMatchObject({ executorVersion: "late" });
});

test("no more requests wait for a connection than may be in flight", async () => {
  const server = new FakeServer();
  const host = await open(server);
  await strand(server, host);
  const waiting = Array.from({ length: 1024 }, () => host.request("environment/info", {}));
  const message = "exec-server has reached its limit of 1024 pending requests";
  const refused = host.request("environment/info", {});
  await expect(inTime(refused, "the refusal")).rejects.toMatchObject({ code: "LIMIT_REACHED", message });
  server.refusal = undefined;
  await inTime(Promise.all(waiting), "the answers");
  await inTime(host.request("environment/info", {}), "an answer");
});

test("a request that was given up while it waited leaves its place", async () => {
  const server = new FakeServer();
  const host = await open(server);
  await strand(server, host);
  const controller = new AbortController();
  const waiting = Array.from({ length: 1024 }, () =>
    host.request("environment/info", {}, { signal: controller.signal }),
  );
  const settled = Promise.allSettled(waiting);
  controller.abort();
  await inTime(settled, "the end of the waiting");
  const next = host.request("environment/info", {});
  server.refusal = undefined;
  await inTime(next, "an answer");
});

test("a listener of states that throws does no harm", async () => {
  const server = new FakeServer();
  const complaints: string[] = [];
  const logger = {
    debug: () => {},
    info: () => {},
    warn: (message: string) => complaints.push(message),
    error: (message: string) => complaints.push(message),
  };
  const host = await open(server, { logger });
  const states: string[] = [];
  host.onStateChange(() => {
    throw new Error("careless");
  });
  host.onStateChange((state) => states.push(state));
  const connected = nextState(host, "connected");
  server.connections[0]!.cut();
  await inTime(connected, "the recovery");
  await inTime(host.request("environment/info", {}), "an answer");
  expect(states).toEqual(["recovering", "connected"]);
  expect(complaints.length).toBeGreaterThan(0);
});

test("a late reader can be given up while recovering", async () => {
  const server = new FakeServer();
  const host = await open(server);
  const process = await host.start(["any"], { processId: "p" });
  // More than is kept here, so that the reader must ask the server.
  for (let seq = 1; seq <= 300; seq += 1) server.connections[0]!.output("p", seq, "x");
  await host.request("environment/info", {});
  await strand(server, host);
  const reason = new Error("too late");
  const controller = new AbortController();
  const next = process.output({ signal: controller.signal }).next();
  controller.abort(reason);
  await expect(inTime(next, "the end of the reading")).rejects.toBe(reason);
});

test("a server that is overloaded is tried again, one that refuses the client is not", async () => {
  const server = new FakeServer();
  const host = await open(server);
  await strand(server, host);
  server.refusal = new ConnectionError("failed to connect: HTTP 503", { status: 503 });
  const tried = server.attempts;
  await pollUntil(
    () => server.attempts > tried + 1,
    DEADLINE_MS,
    () => "more tries",
  );
  server.refusal = new ConnectionError("failed to connect: HTTP 401 Unauthorized", { status: 401 });
  expect(await inTime(host.closed, "the end")).toEqual({
    reason:
      "exec-server transport disconnected; failed to resume exec-server session: failed to connect: HTTP 401 Unauthorized",
    code: "UNAUTHORIZED",
  });
});

test("a host whose reader has stopped closes at once all the same", async () => {
  const server = new FakeServer();
  const host = await open(server);
  const process = await host.start(["any"], { processId: "p" });
  process.output();
  const [connection] = server.connections;
  const block = "b".repeat(256 * 1024);
  for (let seq = 1; seq <= 5; seq += 1) connection!.output("p", seq, block);
  await inTime(process.woken(0), "the first output");
  // Only while it waits for this answer does the client still read.
  await host.request("environment/info", {});
  const ran = measureRunningTime();
  await inTime(host.close(), "the end");
  expect(ran()).toBeLessThan(1_000);
  expect(connection!.requests.at(-1)).toMatchObject({ method: "process/terminate" });
});

test("a process started while recovering is started on the new connection and can be followed", async () => {
  const server = new FakeServer();
  const host = await open(server);
  server.answers.set(
    "process/read",
    ({ processId }) => new Refusal(-32600, `unknown process id ${processId}`),
  );
  await strand(server, host);
  const starting = host.start(["any"], { processId: "p" });
  const running = host.run(["any"], { processId: "q" });
  server.refusal = undefined;
  const process = await inTime(starting, "the start");
  const second = await server.connection(2);
  second.output("p", 1, "hello");
  second.exited("p", 2, 5);
  second.closedProcess("p", 3);
  expect(textOf(await allOf(process.events()))).toBe("hello");
  expect(await process.exited).toMatchObject({ exitCode: 5 });
  await second.request("process/start", 2);
  second.output("q", 1, "ran");
  second.exited("q", 2, 6);
  second.closedProcess("q", 3);
  expect(await inTime(running, "the run")).toMatchObject({ stdout: "ran", exitCode: 6 });
  expect(second.requests.filter(({ method }) => method === "process/terminate")).toEqual([]);
});

test("a start that is given up while recovering is not made", async () => {
  const server = new FakeServer();
  const host = await open(server);
  await strand(server, host);
  const controller = new AbortController();
  const starting = host.start(["any"], { processId: "p", signal: controller.signal });
  const reason = new Error("too late");
  controller.abort(reason);
  await expect(starting).rejects.toBe(reason);
  server.refusal = undefined;
  await inTime(host.request("environment/info", {}), "the answer");
  const methods = server.connections[1]!.requests.map(({ method }) => method);
  expect(methods).not.toContain("process/start");
});

test("a write whose answer was lost is sent again under the same id, and later ones count on", async () => {
  const server = new FakeServer();
  const host = await open(server);
  const process = await host.start(["any"], { processId: "p", stdin: "pipe" });
  await process.write("one");
  server.answers.set("process/write", () => unanswered);
  const [first] = server.connections;
  const written = [process.write("two"), process.write("three")];
  await first!.request("process/write", 2);
  server.answers.set("process/write", () => ({ status: "accepted" }));
  first!.cut();
  await inTime(Promise.all(written), "the writes");
  const writes = server.connections.flatMap(({ requests }, index) =>
    requests
      .filter(({ method }) => method === "process/write")
      .map(({ params }) => `${index + 1}: ${params["writeId"]} ${atob(params["chunk"] as string)}`),
  );
  expect(writes).toEqual(["1: 1 one", "1: 2 two", "2: 2 two", "2: 3 three"]);
});

test("a read whose answer was lost is asked again", async () => {
  const server = new FakeServer();
  const host = await open(server);
  const process = await host.start(["any"], { processId: "p" });
  server.answers.set("process/read", ({ waitMs }) => (waitMs === 0 ? emptyRead : unanswered));
  const asked = process.read({ afterSeq: 0, waitMs: 60_000 });
  const [first] = server.connections;
  await first!.request("process/read");
  server.answers.set("process/read", () => ({ ...emptyRead, chunks: [chunkOf(1, "x")], nextSeq: 2 }));
  first!.cut();
  expect(await inTime(asked, "the answer")).toMatchObject({ nextSeq: 2, failure: null });
});

test("a start whose answer was lost fails, and what came of it is terminated after the recovery", async () => {
  const server = new FakeServer();
  const host = await open(server);
  server.answers.set("process/start", () => unanswered);
  const starting = host.start(["any"], { processId: "lost" });
  const [first] = server.connections;
  await first!.request("process/start");
  first!.cut();
  await expect(starting).rejects.toMatchObject({ code: "EFFECT_UNKNOWN" });
  const second = await server.connection(2);
  const terminated = await second.request("process/terminate");
  expect(terminated.params).toEqual({ processId: "lost" });
  expect(second.requests.map(({ method }) => method)).toEqual(["initialize", "process/terminate"]);
});

test("what came of a lost start is terminated for sure, on as many connections as it takes", async () => {
  const server = new FakeServer();
  const host = await open(server);
  server.answers.set("process/start", () => unanswered);
  server.answers.set("process/terminate", () => unanswered);
  const starting = host.start(["any"], { processId: "lost" });
  await server.connections[0]!.request("process/start");
  server.connections[0]!.cut();
  await expect(starting).rejects.toMatchObject({ code: "EFFECT_UNKNOWN" });
  const second = await server.connection(2);
  await second.request("process/terminate");
  server.answers.set("process/terminate", () => ({ running: true }));
  second.cut();
  const third = await server.connection(3);
  expect((await third.request("process/terminate")).params).toEqual({ processId: "lost" });
  await inTime(host.request("environment/info", {}), "the answer");
  third.cut();
  const fourth = await server.connection(4);
  await fourth.until(() => fourth.notifications.includes("initialized"), "the fourth connection");
  await inTime(host.request("environment/info", {}), "the answer");
  expect(fourth.requests.map(({ method }) => method)).toEqual(["initialize", "environment/info"]);
});

test("other requests in flight fail with the connection and are not repeated", async () => {
  const server = new FakeServer();
  const host = await open(server);
  server.answers.set("fs/createDirectory", () => unanswered);
  const asked = host.request("fs/createDirectory", { path: "file:///x" });
  const [first] = server.connections;
  await first!.request("fs/createDirectory");
  const connected = nextState(host, "connected");
  first!.cut();
  await expect(asked).rejects.toMatchObject({ name: "ConnectionError", code: "EFFECT_UNKNOWN" });
  await inTime(connected, "the recovery");
  expect(server.connections[1]!.requests.map(({ method }) => method)).toEqual(["initialize"]);
});

test("a session that the server has forgotten fails everything, with both reasons in one message", async () => {
  const server = new FakeServer();
  const host = await open(server);
  const process = await host.start(["any"], { processId: "p" });
  server.answers.set(
    "initialize",
    ({ resumeSessionId }) => new Refusal(-32600, `unknown session id ${resumeSessionId}`),
  );
  server.connections[0]!.cut();
  const message =
    "exec-server transport disconnected; failed to resume exec-server session: unknown session id …";
  const code = "SESSION_LOST";
  expect(await inTime(host.closed, "the end")).toEqual({ reason: message, code });
  expect(host.state).toBe("closed");
  expect(await allOf(process.events())).toEqual([{ kind: "failed", message, code }]);
  await expect(process.exited).rejects.toMatchObject({ name: "ConnectionError", code, message });
  await expect(process.output().next()).rejects.toMatchObject({ code, message });
  await expect(process.write("x")).rejects.toMatchObject({ code, message });
  await expect(process.kill()).rejects.toMatchObject({ code, message });
  await expect(host.request("environment/info", {})).rejects.toMatchObject({ code, message });
  await expect(host.files.copy("/a", "/b")).rejects.toMatchObject({ code, message });
  await expect(host.start(["any"])).rejects.toMatchObject({ code, message });
  expect(server.attempts).toBe(2);
});

test("the recovery is given up after its time, and says so", async () => {
  // Tries and their end are on one clock: the machine's own could leave no time for the tries.
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const server = new FakeServer();
  const host = await open(server, { recoveryTimeoutMs: 300 });
  await strand(server, host);
  const waiting = host.request("environment/info", {});
  const message = "exec-server transport disconnected; recovery timed out after 300ms";
  waiting.catch(() => {});
  await vi.advanceTimersByTimeAsync(300);
  await expect(waiting).rejects.toMatchObject({ code: "CONNECTION_CLOSED", message });
  expect(await host.closed).toEqual({ reason: message, code: "CONNECTION_CLOSED" });
  expect(server.attempts).toBeGreaterThan(2);
});

test("a server that accepts the session but does not say what became of its processes cannot stretch the recovery", async () => {
  const server = new FakeServer();
  const host = await open(server, { recoveryTimeoutMs: 300 });
  await host.start(["any"], { processId: "p" });
  server.answers.set("process/read", () => unanswered);
  server.connections[0]!.cut();
  expect(await inTime(host.closed, "the end")).toEqual({
    reason: "exec-server transport disconnected; recovery timed out after 300ms",
    code: "CONNECTION_CLOSED",
  });
});

test("a session that still has its old connection is tried again until it is free", async () => {
  const server = new FakeServer();
  const host = await open(server);
  let refusals = 2;
  server.answers.set("initialize", () => {
    refusals -= 1;
    return refusals < 0
      ? { sessionId: "session-1" }
      : new Refusal(-32010, "session session-1 is already attached to another connection");
  });
  const connected = nextState(host, "connected");
  server.connections[0]!.cut();
  await inTime(connected, "the recovery");
  expect(server.attempts).toBe(4);
});

test("a connection that breaks during the recovery is replaced by another", async () => {
  const server = new FakeServer();
  const host = await open(server);
  const process = await host.start(["any"], { processId: "p" });
  server.answers.set("process/read", (_, connection) => {
    if (server.connections.length < 4) connection.cut();
    return { ...emptyRead, chunks: [chunkOf(1, "x")], nextSeq: 2 };
  });
  const connected = nextState(host, "connected");
  server.connections[0]!.cut();
  await inTime(connected, "the recovery");
  expect(server.connections).toHaveLength(4);
  expect(await process.output().next()).toMatchObject({ value: { seq: 1 } });
});

test("a process that the server has forgotten fails alone", async () => {
  const server = new FakeServer();
  const host = await open(server);
  const gone = await host.start(["any"], { processId: "gone" });
  const kept = await host.start(["any"], { processId: "kept" });
  server.answers.set("process/read", ({ processId }) =>
    processId === "gone" ? new Refusal(-32600, "unknown process id gone") : emptyRead,
  );
  server.connections[0]!.cut();
  const message = "failed to recover process gone: unknown process id gone";
  await expect(gone.exited).rejects.toMatchObject({ message });
  const second = await server.connection(2);
  second.exited("kept", 1, 2);
  expect(await inTime(kept.exited, "the exit")).toMatchObject({ exitCode: 2 });
  expect(host.state).toBe("connected");
});

test("output that the server gave up while nobody was connected shows as a gap, and the process continues", async () => {
  const server = new FakeServer();
  const host = await open(server);
  const process = await host.start(["any"], { processId: "p" });
  server.connections[0]!.output("p", 1, "1");
  server.answers.set("process/read", () => ({ ...emptyRead, chunks: [chunkOf(8, "8")], nextSeq: 9 }));
  const events = allOf(process.events());
  server.connections[0]!.cut();
  const second = await server.connection(2);
  second.exited("p", 9);
  second.closedProcess("p", 10);
  expect((await events).map((event) => (event.kind === "gap" ? "gap" : event.kind))).toEqual([
    "output",
    "gap",
    "output",
    "exited",
    "closed",
  ]);
});

test("closing while recovering ends at once and fails what waits", async () => {
  const server = new FakeServer();
  const host = await open(server);
  const process = await host.start(["any"], { processId: "p" });
  await strand(server, host);
  const waiting = host.request("environment/info", {});
  waiting.catch(() => {});
  const ran = measureRunningTime();
  await inTime(host.close(), "the end");
  expect(ran()).toBeLessThan(1_000);
  await expect(waiting).rejects.toMatchObject({ code: "CONNECTION_CLOSED" });
  await expect(process.exited).rejects.toMatchObject({ code: "CONNECTION_CLOSED" });
  expect(await host.closed).toEqual({ reason: undefined });
});

test("closing while the processes catch up ends at once too, and leaves no connection open", async () => {
  const server = new FakeServer();
  const host = await open(server);
  await host.start(["any"], { processId: "p" });
  server.answers.set("process/read", () => unanswered);
  server.connections[0]!.cut();
  const second = await server.connection(2);
  const read = await second.request("process/read");
  // The answer and the close meet.
  second.answer(read, emptyRead);
  await inTime(host.close(), "the end");
  await inTime(second.closed, "the end of the second connection");
});

test("a process that was held back on the old connection is held back on the new one", async () => {
  const server = new FakeServer();
  server.answers.set("initialize", () => ({
    sessionId: "session-1",
    environmentInfo: { ...someEnvironment, extensions: ["process/flow"] },
  }));
  const host = await open(server);
  const process = await host.start(["any"], { processId: "p" });
  const reader = process.output();
  const [first] = server.connections;
  const block = "b".repeat(256 * 1024);
  for (let seq = 1; seq <= 5; seq += 1) first!.output("p", seq, block);
  const flow = await first!.request("process/flow");
  expect(flow.params).toEqual({ processId: "p", paused: true });
  server.answers.set("process/read", () => ({ ...emptyRead, nextSeq: 6 }));
  first!.cut();
  const second = await server.connection(2);
  expect((await second.request("process/flow")).params).toEqual({ processId: "p", paused: true });
  for (let seq = 1; seq <= 5; seq += 1) await reader.next();
  expect((await second.request("process/flow", 2)).params).toEqual({ processId: "p", paused: false });
});

test("close terminates what still runs, detach leaves it", async () => {
  const server = new FakeServer();
  const left = await open(server);
  await left.start(["any"], { processId: "left" });
  await left.detach();
  expect(server.connections[0]!.requests.map(({ method }) => method)).toEqual([
    "initialize",
    "process/start",
  ]);
  const ended = await open(server, { resumeSessionId: left.sessionId });
  server.answers.set("process/read", () => ({ ...emptyRead, chunks: [chunkOf(1, "kept")], nextSeq: 2 }));
  const adopted = await ended.adopt("left");
  expect(await adopted.output().next()).toMatchObject({ value: { seq: 1 } });
  await ended.close();
  expect(server.connections[1]!.requests.at(-1)).toMatchObject({
    method: "process/terminate",
    params: { processId: "left" },
  });
});
