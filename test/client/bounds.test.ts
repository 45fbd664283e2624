import { afterEach, expect, test } from "vitest";
import { ExecError, ProtocolError } from "../../src/base/errors.ts";
import { connect } from "../../src/client/host/connect.ts";
import type { Host } from "../../src/client/host/host.ts";
import { createMemoryPair } from "../../src/transport/memory.ts";
import { withDeadline } from "../fault/deadline.ts";
import { emptyRead, FakeConnection, FakeServer, someEnvironment, unanswered } from "./fake-server.ts";

// Everything that a server can make a client keep is bounded.

const DEADLINE_MS = 20_000;
const hosts: Host[] = [];

afterEach(async () => {
  await Promise.all(hosts.splice(0).map((host) => host.close()));
});

async function open(server: FakeServer, extensions: readonly string[] = []): Promise<Host> {
  server.answers.set("initialize", () => ({
    sessionId: "session-1",
    environmentInfo: { ...someEnvironment, extensions },
  }));
  const host = await connect(await server.open());
  hosts.push(host);
  return host;
}

const inTime = <T>(promise: Promise<T>, what: string): Promise<T> =>
  withDeadline(promise, DEADLINE_MS, () => what);

test.each([
  ["many", 100_000, "1", "any/method"],
  ["with long names", 10_000, "1", "m".repeat(10_000)],
  ["with long ids", 100, `"${"i".repeat(100_000)}"`, "any/method"],
  ["about the network", 50_000, "1", "network/policyRequest"],
])(
  "requests of a server that never reads the answers, %s, end the connection",
  async (_, count, id, method) => {
    const [ours, theirs] = createMemoryPair();
    const answers = new Map([["initialize", () => ({ sessionId: "session-1" })]]);
    const connection = new FakeConnection(theirs, answers);
    const host = await connect(ours);
    hosts.push(host);
    await connection.until(() => connection.notifications.length === 1, "the handshake");
    theirs.pause();
    for (let sent = 0; sent < count; sent += 1)
      connection.sendText(
        `{"id":${id},"method":"${method}","params":{"processId":"p","request":{"protocol":"http","host":"a","port":1}}}`,
      );
    const { reason } = await inTime(host.closed, "the end");
    expect(reason).toContain("the server sends requests and does not read the answers");
    expect(ours.queuedBytes).toBeLessThan(4 * 1024 * 1024);
  },
);

test("requests of a server that reads the answers are all answered", async () => {
  const server = new FakeServer();
  const host = await open(server);
  const connection = await server.connection(1);
  const refusals = 50_000;
  for (let id = 1; id <= refusals; id += 1) {
    connection.send({ id, method: "any/method" });
    if (id % 1000 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  await inTime(host.request("environment/info", {}), "an answer");
  expect(connection.answers).toHaveLength(refusals);
  expect(host.state).toBe("connected");
});

test("an exit with a long text fails its process", async () => {
  const server = new FakeServer();
  const host = await open(server);
  const connection = await server.connection(1);
  const process = await host.start(["any"], { processId: "p" });
  const exit = { signal: "S".repeat(8 * 1024 * 1024) };
  connection.notify("process/exited", { processId: "p", seq: 1, exitCode: 0, exit });
  await expect(inTime(process.exited, "the failure")).rejects.toBeInstanceOf(ProtocolError);
});

test("starts that were given up are ended once each, and count as requests until the server says so", async () => {
  const server = new FakeServer();
  const host = await open(server);
  const connection = await server.connection(1);
  server.answers.set("process/terminate", () => unanswered);
  let refused: unknown;
  for (let count = 0; count < 3_000 && refused === undefined; count += 1) {
    const controller = new AbortController();
    const started = host.start(["any"], { signal: controller.signal });
    controller.abort();
    const error: unknown = await inTime(started, "an outcome").catch((reason: unknown) => reason);
    if (error instanceof ExecError) refused = error;
    // The server has answered the start before the next one is made.
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(refused).toMatchObject({ code: "LIMIT_REACHED" });
  const ends = connection.requests.filter(({ method }) => method === "process/terminate");
  expect(ends.length).toBeLessThan(1100);
  expect(new Set(ends.map(({ params }) => params["processId"])).size).toBe(ends.length);
});

test.each([
  ["many", 50, 1_000, 10],
  ["long", 50, 10, 100_000],
])(
  "paths that a watch has not read, %s, become one word: look at everything",
  async (_, messages, count, length) => {
    const server = new FakeServer();
    const host = await open(server, ["fs/watch"]);
    const connection = await server.connection(1);
    const watch = await host.files.watch("/w");
    for (let message = 0; message < messages; message += 1) {
      const paths = Array.from(
        { length: count },
        (_, index) => `file:///w/${message}-${index}-${"x".repeat(length)}`,
      );
      connection.notify("fs/watch/changed", { watchId: "watch-1", paths, overflow: false, ended: false });
    }
    await host.request("environment/info", {});
    expect(await inTime(watch.next(), "a change")).toEqual({
      done: false,
      value: { paths: [], overflow: true },
    });
  },
);

test("gaps without end are kept as a thousand", async () => {
  const server = new FakeServer();
  const host = await open(server);
  const connection = await server.connection(1);
  let seq = 0;
  server.answers.set("process/read", () => {
    seq += 2;
    const chunk = { seq, stream: "stdout", chunk: "" };
    return { ...emptyRead, chunks: [chunk], nextSeq: seq + 1 };
  });
  const run = host.run(["any"], { processId: "p" });
  await connection.request("process/start");
  for (let read = 1; read <= 3_000; read += 1) {
    connection.notify("process/gap", { processId: "p", fromSeq: 1, toSeq: 1 });
    await connection.request("process/read", read);
  }
  await host.request("environment/info", {});
  connection.exited("p", seq + 1);
  connection.closedProcess("p", seq + 2);
  const { gaps } = await inTime(run, "the end");
  expect(gaps).toHaveLength(1024);
  expect(gaps[0]).toEqual({ fromSeq: 1, toSeq: 1 });
  expect(gaps.at(-1)).toEqual({ fromSeq: 2047, toSeq: seq - 1 });
});
