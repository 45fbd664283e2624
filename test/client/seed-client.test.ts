import { afterEach, expect, test } from "vitest";
import { ConnectionError, ExecError, RpcError, UsageError } from "../../src/base/errors.ts";
import { connect } from "../../src/client/host/connect.ts";
import type { Host } from "../../src/client/host/host.ts";
import type { ProcessEvent } from "../../src/client/routes/process-events.ts";
import { withDeadline } from "../fault/deadline.ts";
import {
  chunkOf,
  emptyRead,
  type FakeConnection,
  FakeServer,
  Refusal,
  someEnvironment,
  unanswered,
} from "./fake-server.ts";

// What Codex's own client is tested for, and the limits of its wire, against a scripted server.

const DEADLINE_MS = 20_000;
const hosts: Host[] = [];

afterEach(async () => {
  await Promise.all(hosts.splice(0).map((host) => host.close()));
});

async function open(
  server: FakeServer,
  options: { resumable?: boolean; recoveryTimeoutMs?: number } = {},
): Promise<{ host: Host; connection: FakeConnection }> {
  const { resumable = false, ...rest } = options;
  const host = await connect(resumable ? server.open : await server.open(), rest);
  hosts.push(host);
  return { host, connection: await server.connection(1) };
}

/** Events as one word each, with everything that distinguishes them. */
function describe(event: ProcessEvent): string {
  switch (event.kind) {
    case "output":
      return `${event.seq} ${event.stream} ${Buffer.from(event.bytes).toString()}`;
    case "exited":
      return `${event.seq} exited ${event.exitCode}`;
    case "closed":
      return `${event.seq} closed`;
    case "gap":
      return `gap ${event.fromSeq}-${event.toSeq}`;
    case "failed":
      return `failed ${event.message}`;
  }
}

async function all(events: AsyncIterable<ProcessEvent>): Promise<string[]> {
  const seen: string[] = [];
  const reading = (async () => {
    for await (const event of events) seen.push(describe(event));
  })();
  await withDeadline(reading, DEADLINE_MS, () => `the end of the events; so far ${seen.join(", ")}`);
  return seen;
}

const inTime = <T>(promise: Promise<T>, what: string): Promise<T> =>
  withDeadline(promise, DEADLINE_MS, () => what);

test("events that arrive out of order are delivered in the order of their numbers", async () => {
  const { host, connection } = await open(new FakeServer());
  const process = await host.start(["any"], { processId: "p" });
  connection.closedProcess("p", 4);
  connection.output("p", 1, "one");
  connection.exited("p", 3, 7);
  connection.output("p", 2, "two", "stderr");
  expect(await all(process.events())).toEqual(["1 stdout one", "2 stderr two", "3 exited 7", "4 closed"]);
  expect(await process.exited).toEqual({ exitCode: 7, sandboxDenied: false });
  await inTime(process.closed, "closed");
});

test("a process is not closed before the events that come before its end", async () => {
  const { host, connection } = await open(new FakeServer());
  const process = await host.start(["any"], { processId: "p" });
  connection.closedProcess("p", 3);
  connection.exited("p", 2);
  await inTime(process.woken(0), "wake");
  await host.request("process/terminate", { processId: "other" });
  expect(process.isClosed).toBe(false);
  connection.output("p", 1, "late");
  await inTime(process.closed, "closed");
  expect(process.isClosed).toBe(true);
});

test("an event that comes twice is delivered once, and its first copy counts", async () => {
  const { host, connection } = await open(new FakeServer());
  const process = await host.start(["any"], { processId: "p" });
  connection.output("p", 1, "one");
  connection.output("p", 1, "again");
  connection.output("p", 3, "three");
  connection.output("p", 3, "again");
  connection.output("p", 2, "two");
  connection.output("p", 2, "again");
  connection.exited("p", 4);
  connection.closedProcess("p", 5);
  expect(await all(process.events())).toEqual([
    "1 stdout one",
    "2 stdout two",
    "3 stdout three",
    "4 exited 0",
    "5 closed",
  ]);
});

test("a flood of one process does not delay the wake of another", async () => {
  const { host, connection } = await open(new FakeServer());
  await host.start(["any"], { processId: "noisy" });
  const quiet = await host.start(["any"], { processId: "quiet" });
  for (let seq = 1; seq <= 4097; seq += 1) connection.output("noisy", seq, "x");
  connection.exited("quiet", 1, 17);
  expect(await inTime(quiet.woken(0), "the wake of the quiet process")).toBe(1);
  expect(await quiet.exited).toMatchObject({ exitCode: 17 });
});

test("the wake number is the highest number that arrived, published or not", async () => {
  const { host, connection } = await open(new FakeServer());
  const process = await host.start(["any"], { processId: "p" });
  connection.output("p", 5, "five");
  expect(await inTime(process.woken(0), "wake")).toBe(5);
  connection.output("p", 2, "two");
  await host.request("process/terminate", { processId: "other" });
  expect(process.wake).toBe(5);
});

test("events of unknown processes and unknown notifications are ignored", async () => {
  const { host, connection } = await open(new FakeServer());
  const process = await host.start(["any"], { processId: "p" });
  connection.output("stranger", 1, "x");
  connection.exited("stranger", 2);
  connection.notify("process/invented", { anything: true });
  connection.notify("http/request/bodyDelta", {
    requestId: "http-99",
    seq: 1,
    deltaBase64: "",
    done: true,
    error: null,
  });
  connection.exited("p", 1);
  connection.closedProcess("p", 2);
  expect(await all(process.events())).toEqual(["1 exited 0", "2 closed"]);
  expect(host.state).toBe("connected");
});

test("a lost connection delivers what had arrived, then fails every process with one message and refuses new ones", async () => {
  const { host, connection } = await open(new FakeServer());
  const first = await host.start(["any"], { processId: "first" });
  const second = await host.start(["any"], { processId: "second" });
  const pending = host.request("process/read", { processId: "first" });
  await pending;
  connection.output("first", 1, "last words");
  connection.cut();
  const message = "exec-server transport disconnected";
  expect(await all(first.events())).toEqual(["1 stdout last words", `failed ${message}`]);
  expect(await all(second.events())).toEqual([`failed ${message}`]);
  await expect(first.exited).rejects.toMatchObject({ code: "CONNECTION_CLOSED", message });
  await expect(second.closed).rejects.toMatchObject({ code: "CONNECTION_CLOSED", message });
  await expect(host.start(["any"])).rejects.toMatchObject({ code: "CONNECTION_CLOSED", message });
  await expect(host.request("environment/info", {})).rejects.toMatchObject({ message });
  expect(await host.closed).toEqual({ reason: message, code: "CONNECTION_CLOSED" });
  expect(await first.read()).toEqual({
    chunks: [],
    nextSeq: first.wake + 1,
    exited: true,
    exitCode: null,
    closed: true,
    failure: message,
    sandboxDenied: false,
  });
});

test("a failed process wakes those who poll it", async () => {
  const { host, connection } = await open(new FakeServer());
  const process = await host.start(["any"], { processId: "p" });
  const woken = process.woken(0);
  connection.cut();
  expect(await inTime(woken, "wake")).toBe(1);
});

test("a request in flight fails when the connection does", async () => {
  const server = new FakeServer();
  server.answers.set("environment/info", () => unanswered);
  const { host, connection } = await open(server);
  const asked = host.request("environment/info", {});
  await connection.request("environment/info");
  connection.cut();
  await expect(asked).rejects.toBeInstanceOf(ConnectionError);
});

test("a malformed message ends the connection and says why", async () => {
  const { host, connection } = await open(new FakeServer());
  connection.sendText("not-json");
  const { reason } = await inTime(host.closed, "the end");
  expect(reason).toMatch(/^exec-server transport disconnected: failed to parse JSON-RPC message from .*/);
});

test("a notification that fits nobody drops the connection, and the session is recovered", async () => {
  const server = new FakeServer();
  const { host, connection } = await open(server, { resumable: true });
  const process = await host.start(["any"], { processId: "p" });
  connection.output("p", 1, "one");
  connection.notify("process/output", { processId: ["p"], seq: 2, stream: "stdout", chunk: "" });
  await inTime(connection.closed, "the end of the first connection");
  const second = await server.connection(2);
  const read = await second.request("process/read");
  expect(read.params).toEqual({ processId: "p", afterSeq: 1, maxBytes: null, waitMs: 0 });
  second.exited("p", 2);
  second.closedProcess("p", 3);
  expect(await all(process.events())).toEqual(["1 stdout one", "2 exited 0", "3 closed"]);
});

test("without a way to recover, a notification that does not fit is the reason of the end", async () => {
  const { host, connection } = await open(new FakeServer());
  connection.notify("process/exited", { processId: "p", seq: 1, exitCode: "zero" });
  expect(await inTime(host.closed, "the end")).toEqual({
    reason:
      "exec-server transport disconnected: exec-server notification handling failed: the parameters of process/exited do not fit the protocol: exitCode must be a whole number, not other text",
    code: "CONNECTION_CLOSED",
  });
});

test("too many events that wait for a missing one are given up and read again", async () => {
  const server = new FakeServer();
  const { host, connection } = await open(server);
  server.answers.set("process/read", ({ afterSeq }) => ({
    ...emptyRead,
    chunks: Array.from({ length: 300 }, (_, index) => chunkOf(index + 1, `${index + 1};`)).filter(
      ({ seq }) => seq > afterSeq,
    ),
    nextSeq: 303,
    exited: true,
    exitCode: 3,
    closed: true,
  }));
  const process = await host.start(["any"], { processId: "p" });
  for (let seq = 2; seq <= 257; seq += 1) connection.output("p", seq, `${seq};`);
  await host.request("process/terminate", { processId: "other" });
  expect(connection.requests.filter(({ method }) => method === "process/read")).toEqual([]);
  connection.output("p", 258, "258;");
  await connection.request("process/read");
  const events = await all(process.events());
  expect(events).toHaveLength(302);
  expect(events[0]).toBe("1 stdout 1;");
  expect(events.slice(-3)).toEqual(["300 stdout 300;", "301 exited 3", "302 closed"]);
});

test("events that are given up while the missing ones are being read are read after them", async () => {
  const server = new FakeServer();
  server.answers.set("process/read", () => unanswered);
  const { host, connection } = await open(server);
  const process = await host.start(["any"], { processId: "p" });
  for (let seq = 2; seq <= 258; seq += 1) connection.output("p", seq, `${seq};`);
  const read = await connection.request("process/read");
  for (let seq = 259; seq <= 515; seq += 1) connection.output("p", seq, `${seq};`);
  const chunks = Array.from({ length: 515 }, (_, index) => chunkOf(index + 1, `${index + 1};`));
  connection.answer(read, { ...emptyRead, chunks: chunks.slice(0, 258), nextSeq: 259 });
  const again = await connection.request("process/read", 2);
  expect(again.params["afterSeq"]).toBe(258);
  connection.answer(again, { ...emptyRead, chunks: chunks.slice(258), nextSeq: 516 });
  connection.exited("p", 516);
  connection.closedProcess("p", 517);
  server.answers.set("process/read", () => ({
    ...emptyRead,
    chunks,
    nextSeq: 518,
    exited: true,
    closed: true,
  }));
  expect(await all(process.events())).toHaveLength(517);
});

test("missing events are read also when no request is free", async () => {
  const server = new FakeServer();
  server.answers.set("environment/info", () => unanswered);
  const { host, connection } = await open(server);
  const process = await host.start(["any"], { processId: "p" });
  const pending = Array.from({ length: 1024 }, () => host.request("environment/info", {}));
  const chunks = Array.from({ length: 258 }, (_, index) => chunkOf(index + 1, `${index + 1};`));
  server.answers.set("process/read", () => ({ ...emptyRead, chunks, nextSeq: 259 }));
  for (let seq = 2; seq <= 258; seq += 1) connection.output("p", seq, `${seq};`);
  await connection.request("process/read");
  connection.exited("p", 259, 4);
  expect(await inTime(process.exited, "the exit")).toMatchObject({ exitCode: 4 });
  connection.cut();
  await Promise.allSettled(pending);
});

test("too many bytes that wait for a missing event are given up and read again", async () => {
  const server = new FakeServer();
  const { host, connection } = await open(server);
  const process = await host.start(["any"], { processId: "p" });
  const half = "h".repeat(512 * 1024);
  connection.output("p", 2, half);
  connection.output("p", 3, half);
  server.answers.set("process/read", () => ({
    ...emptyRead,
    chunks: [chunkOf(1, "first"), chunkOf(2, half), chunkOf(3, half), chunkOf(4, "last")],
    nextSeq: 5,
  }));
  connection.output("p", 4, "last");
  await connection.request("process/read");
  connection.exited("p", 5);
  connection.closedProcess("p", 6);
  const { stdoutBytes } = await inTime(process.communicate(), "the output");
  expect(Buffer.from(stdoutBytes).toString()).toBe(`first${half}${half}last`);
});

test("a late reader gets the whole output: the latest events from memory, those before from the server", async () => {
  const server = new FakeServer();
  const { host, connection } = await open(server);
  const process = await host.start(["any"], { processId: "p" });
  for (let seq = 1; seq <= 400; seq += 1) connection.output("p", seq, `${seq};`);
  connection.exited("p", 401);
  connection.closedProcess("p", 402);
  await inTime(process.closed, "closed");
  server.answers.set("process/read", ({ afterSeq }) => ({
    ...emptyRead,
    chunks: Array.from({ length: 400 }, (_, index) => chunkOf(index + 1, `${index + 1};`)).filter(
      ({ seq }) => seq > afterSeq,
    ),
    nextSeq: 403,
    exited: true,
    exitCode: 0,
    closed: true,
  }));
  const events = await all(process.events());
  expect(events).toEqual([
    ...Array.from({ length: 400 }, (_, index) => `${index + 1} stdout ${index + 1};`),
    "401 exited 0",
    "402 closed",
  ]);
});

test("what the server has forgotten shows as a gap, and is an error for readers of the output", async () => {
  const server = new FakeServer();
  const { host, connection } = await open(server);
  const process = await host.start(["any"], { processId: "p" });
  for (let seq = 1; seq <= 300; seq += 1) connection.output("p", seq, `${seq};`);
  await host.request("process/terminate", { processId: "other" });
  server.answers.set("process/read", ({ afterSeq }) => ({
    ...emptyRead,
    chunks: Array.from({ length: 300 }, (_, index) => chunkOf(index + 1, `${index + 1};`)).filter(
      ({ seq }) => seq > Math.max(afterSeq, 200),
    ),
    nextSeq: 301,
  }));
  const reader = process.output();
  await expect(reader.next()).rejects.toMatchObject({
    code: "OUTPUT_LOST",
    message: "output is missing: the server no longer had events 1 to 200 when they were requested again",
  });
  const gaps: unknown[] = [];
  const tolerant = process.output({ onGap: (gap) => gaps.push(gap) });
  expect(await tolerant.next()).toMatchObject({ value: { seq: 201 } });
  expect(gaps).toEqual([{ fromSeq: 1, toSeq: 200 }]);
  await tolerant.return?.();
});

test("the events of an ended process can be replayed after the server has forgotten it", async () => {
  const server = new FakeServer();
  const { host, connection } = await open(server);
  const process = await host.start(["any"], { processId: "p" });
  for (let seq = 1; seq <= 300; seq += 1) connection.output("p", seq, "x");
  connection.exited("p", 301, 9);
  connection.closedProcess("p", 302);
  await inTime(process.closed, "closed");
  server.answers.set("process/read", () => new Refusal(-32600, "unknown process id p"));
  expect(await all(process.events())).toEqual(["gap 1-300", "301 exited 9", "302 closed"]);
});

test("two readers of one process each get everything", async () => {
  const { host, connection } = await open(new FakeServer());
  const process = await host.start(["any"], { processId: "p" });
  const early = all(process.events());
  connection.output("p", 1, "one");
  await inTime(process.woken(0), "wake");
  const late = all(process.events());
  connection.exited("p", 2);
  connection.closedProcess("p", 3);
  const expected = ["1 stdout one", "2 exited 0", "3 closed"];
  expect(await early).toEqual(expected);
  expect(await late).toEqual(expected);
});

test("more than 1024 requests in flight are refused, and the places come free again", async () => {
  const server = new FakeServer();
  server.answers.set("environment/info", () => unanswered);
  const { host, connection } = await open(server);
  const pending = Array.from({ length: 1024 }, () => host.request("environment/info", {}));
  await expect(host.request("environment/info", {})).rejects.toMatchObject({
    code: "LIMIT_REACHED",
    message: "exec-server has reached its limit of 1024 pending requests",
  });
  await connection.request("environment/info", 1024);
  server.answers.set("environment/info", () => ({ ...someEnvironment, executorVersion: "fine" }));
  for (const request of connection.requests)
    if (request.method === "environment/info") connection.answer(request, someEnvironment);
  await inTime(Promise.all(pending), "the answers");
  await expect(host.request("environment/info", {})).resolves.toMatchObject({ executorVersion: "fine" });
});

test("request ids count from 1, and params are always there", async () => {
  const { host, connection } = await open(new FakeServer());
  await host.start(["any"], { processId: "p" });
  await host.request("environment/info", {});
  expect(connection.requests.map(({ id }) => id)).toEqual([1, 2, 3]);
  expect(connection.requests.every(({ params }) => typeof params === "object")).toBe(true);
  expect(connection.notifications).toEqual(["initialized"]);
});

test("the writes of each process are numbered from 1", async () => {
  const { host, connection } = await open(new FakeServer());
  const first = await host.start(["any"], { processId: "first", stdin: "pipe" });
  const second = await host.start(["any"], { processId: "second", stdin: "pipe" });
  await Promise.all([first.write("a"), first.write("b"), second.write("c"), first.write("d")]);
  const writes = connection.requests
    .filter(({ method }) => method === "process/write")
    .map(({ params }) => [params["processId"], params["writeId"], atob(params["chunk"] as string)].join(" "));
  expect(writes.filter((write) => write.startsWith("first"))).toEqual([
    "first 1 a",
    "first 2 b",
    "first 3 d",
  ]);
  expect(writes.filter((write) => write.startsWith("second"))).toEqual(["second 1 c"]);
});

test("a write that the server refuses is an error that says why", async () => {
  const server = new FakeServer();
  const { host } = await open(server);
  const process = await host.start(["any"], { processId: "p", stdin: "pipe" });
  server.answers.set("process/write", () => ({ status: "stdinClosed" }));
  await expect(process.write("x")).rejects.toMatchObject({ code: "STDIN_CLOSED" });
  server.answers.set("process/write", () => ({ status: "unknownProcess" }));
  await expect(process.write("x")).rejects.toMatchObject({ code: "NOT_FOUND" });
});

test("a process id that is in use here is refused before anything is sent", async () => {
  const { host, connection } = await open(new FakeServer());
  await host.start(["any"], { processId: "p" });
  const again = host.start(["any"], { processId: "p" });
  await expect(again).rejects.toBeInstanceOf(UsageError);
  await expect(again).rejects.toThrow("session already registered for process p");
  expect(connection.requests.filter(({ method }) => method === "process/start")).toHaveLength(1);
});

test("a failed start gives its process id free", async () => {
  const server = new FakeServer();
  const { host } = await open(server);
  server.answers.set("process/start", () => new Refusal(-32603, "no such program"));
  const failed = host.start(["any"], { processId: "p" });
  await expect(failed).rejects.toBeInstanceOf(RpcError);
  await expect(failed).rejects.toMatchObject({
    rpcCode: -32603,
    message: "cannot start any in /: no such program",
  });
  server.answers.set("process/start", () => ({ processId: "p" }));
  await expect(host.start(["any"], { processId: "p" })).resolves.toMatchObject({ id: "p" });
});

test("what a server lacks is refused with UNSUPPORTED before anything is sent", async () => {
  const { host, connection } = await open(new FakeServer());
  const process = await host.terminal(["any"], { processId: "p" });
  await expect(process.closeStdin()).rejects.toBeInstanceOf(ExecError);
  await expect(process.closeStdin()).rejects.toMatchObject({ code: "UNSUPPORTED" });
  await expect(process.resize({ cols: 1, rows: 1 })).rejects.toMatchObject({ code: "UNSUPPORTED" });
  expect(connection.requests.map(({ method }) => method)).toEqual(["initialize", "process/start"]);
});

test("the size of a terminal is a field where the server has it, and a shell's business elsewhere", async () => {
  const able = new FakeServer();
  able.answers.set("initialize", () => ({
    sessionId: "session-1",
    environmentInfo: { ...someEnvironment, extensions: ["process/start.terminalSize"] },
  }));
  const { host, connection } = await open(able);
  await host.terminal(["top", "-d", "1"], { cols: 100 });
  expect((await connection.request("process/start")).params).toMatchObject({
    argv: ["top", "-d", "1"],
    tty: true,
    terminalSize: { cols: 100, rows: 24 },
  });
  const plain = await open(new FakeServer());
  await plain.host.terminal(["top"], { cols: 100, rows: 30 });
  await plain.host.terminal(["top"]);
  const sized = await plain.connection.request("process/start");
  expect(sized.params).not.toHaveProperty("terminalSize");
  expect(sized.params["argv"].slice(-3)).toEqual(["100", "30", "top"]);
  expect((await plain.connection.request("process/start", 2)).params).toMatchObject({ argv: ["top"] });
});

test("a request of the server is answered with method not found", async () => {
  const { connection } = await open(new FakeServer());
  connection.send({ id: "s-1", method: "client/invented", params: {} });
  await connection.until(() => connection.answers.length > 0, "the answer");
  expect(connection.answers).toEqual([{ id: "s-1", error: { code: -32601, message: expect.any(String) } }]);
});

test("communicate fails without leaving a rejection behind when the session is lost while it writes", async () => {
  const server = new FakeServer();
  server.answers.set("process/write", () => unanswered);
  const { host, connection } = await open(server);
  const process = await host.start(["any"], { processId: "p", stdin: "pipe" });
  const communicated = process.communicate("input");
  await connection.request("process/write");
  connection.cut();
  await expect(communicated).rejects.toMatchObject({ code: "CONNECTION_CLOSED" });
});
