import { afterEach, expect, test } from "vitest";
import { ProtocolError } from "../../src/base/errors.ts";
import { connect } from "../../src/client/host/connect.ts";
import type { Host } from "../../src/client/host/host.ts";
import { withDeadline } from "../fault/deadline.ts";
import { chunkOf, emptyRead, type FakeConnection, FakeServer, someEnvironment } from "./fake-server.ts";

// A server that violates the protocol: affected callers get a ProtocolError, others do not notice.

const DEADLINE_MS = 20_000;
const hosts: Host[] = [];

afterEach(async () => {
  await Promise.all(hosts.splice(0).map((host) => host.close()));
});

async function open(
  server: FakeServer,
  extensions: readonly string[] = [],
): Promise<{ host: Host; connection: FakeConnection }> {
  server.answers.set("initialize", () => ({
    sessionId: "session-1",
    environmentInfo: { ...someEnvironment, extensions },
  }));
  const host = await connect(server.open);
  hosts.push(host);
  return { host, connection: await server.connection(1) };
}

const inTime = <T>(promise: Promise<T>, what: string): Promise<T> =>
  withDeadline(promise, DEADLINE_MS, () => what);

/** The promise is refused as the protocol's fault, and not late. */
async function expectBroken(promise: Promise<unknown>, message?: RegExp): Promise<void> {
  const outcome = await inTime(
    promise.then(
      (value) => ({ value }),
      (error: unknown) => error,
    ),
    "an outcome",
  );
  expect(outcome).toBeInstanceOf(ProtocolError);
  if (message !== undefined) expect((outcome as Error).message).toMatch(message);
}

test("an event that does not fit fails its process, and nothing else", async () => {
  const server = new FakeServer();
  const { host, connection } = await open(server);
  const process = await host.start(["any"], { processId: "p" });
  const other = await host.start(["any"], { processId: "other" });
  const read = (async () => {
    for await (const _ of process.output());
  })();
  connection.output("p", 1, "one");
  connection.notify("process/output", { processId: "p", seq: "two", stream: "stdout", chunk: "" });
  await expectBroken(process.exited, /seq must be a whole number of at least 1, not other text/);
  await expectBroken(process.closed);
  await expectBroken(read);
  // Processes without followers are ended.
  expect((await connection.request("process/terminate")).params).toEqual({ processId: "p" });
  connection.exited("other", 1, 7);
  expect(await inTime(other.exited, "the other's exit")).toEqual({ exitCode: 7, sandboxDenied: false });
  expect(server.attempts).toBe(1);
});

test.each([
  ["named like the event's own members", { kind: "output", seq: 1e9, exitCode: "0", bytes: null }],
  ["that is nothing of the protocol", { constructor: 1, toString: 2, valueOf: 3 }],
])("members of an exit %s are not taken over", async (_, exit) => {
  const { host, connection } = await open(new FakeServer());
  const run = host.run(["any"], { processId: "p" });
  await connection.request("process/start");
  connection.notify("process/exited", { processId: "p", seq: 1, exitCode: 3, exit });
  connection.closedProcess("p", 2);
  const result = await inTime(run, "the end");
  expect(result.exit).toEqual({ exitCode: 3, sandboxDenied: false });
});

test.each([
  ["no list of paths", { paths: "file:///w/a" }],
  ["a path that is no URI", { paths: ["file:///w/a", "a\nb"] }],
  ["a path of another scheme", { paths: ["http://w/a"] }],
  ["a path that is no text", { paths: [{ toString: 1 }] }],
  ["a path outside", { paths: ["file:///etc/shadow"] }],
  ["a path that leads outside", { paths: ["file:///w/a%2F..%2F..%2Fetc"] }],
  ["no word on its end", { ended: undefined }],
])("a change with %s ends its watch, and nothing else", async (_, wrong) => {
  const { host, connection } = await open(new FakeServer(), ["fs/watch"]);
  const watch = await host.files.watch("/w");
  const other = await host.files.watch("/w");
  const changed = { watchId: "watch-1", paths: [], overflow: false, ended: false };
  connection.notify("fs/watch/changed", { ...changed, ...wrong });
  await expectBroken(watch.next());
  expect((await connection.request("fs/unwatch")).params).toEqual({ watchId: "watch-1" });
  connection.notify("fs/watch/changed", { ...changed, watchId: "watch-2", paths: ["file:///w/b"] });
  expect(await inTime(other.next(), "a change")).toMatchObject({ value: { paths: ["/w/b"] } });
});

test("a body's delta that does not fit fails its body, and nothing else", async () => {
  const server = new FakeServer();
  server.answers.set("http/request", () => ({ status: 200, headers: [], bodyBase64: "" }));
  const { host, connection } = await open(server, ["http/cancel"]);
  const response = await host.fetch("http://upstream.test/");
  const delta = { requestId: "http-1", seq: 1, deltaBase64: "YQ==", done: false, error: null };
  connection.notify("http/request/bodyDelta", { ...delta, error: 5 });
  await expect(inTime(response.text(), "the body")).rejects.toMatchObject({
    name: "TypeError",
    cause: { code: "PROTOCOL_ERROR" },
  });
  expect((await connection.request("http/cancel")).params).toEqual({ requestId: "http-1" });
  const next = await host.fetch("http://upstream.test/");
  connection.notify("http/request/bodyDelta", { ...delta, requestId: "http-2", done: true });
  expect(await inTime(next.text(), "the next body")).toBe("a");
  expect(server.attempts).toBe(1);
});

test.each([
  ["a list", []],
  ["null", null],
  ["without a status", { headers: [], bodyBase64: "" }],
  ["with a status of text", { status: "200", headers: [], bodyBase64: "" }],
  ["with headers as an object", { status: 200, headers: { a: "b" }, bodyBase64: "" }],
])("the head of an HTTP answer that is %s fails its fetch", async (_, head) => {
  const server = new FakeServer();
  server.answers.set("http/request", () => head ?? JSON.parse("[]"));
  const { host } = await open(server);
  await expect(inTime(host.fetch("http://upstream.test/"), "an outcome")).rejects.toMatchObject({
    name: "TypeError",
    cause: { code: "PROTOCOL_ERROR" },
  });
});

test("what is read again must be possible: numbers in order, base64, one exit", async () => {
  const server = new FakeServer();
  const { host } = await open(server);
  const reads = [
    { chunks: [chunkOf(2, "two"), chunkOf(1, "one")], nextSeq: 3 },
    { chunks: [chunkOf(1, "one"), chunkOf(1, "one")], nextSeq: 2 },
    { chunks: [chunkOf(3, "three")], nextSeq: 3 },
    { chunks: [{ seq: 1, stream: "stdout", chunk: "*" }], nextSeq: 2 },
    { chunks: [{ seq: 1, stream: "console", chunk: "" }], nextSeq: 2 },
    { nextSeq: 2 ** 60 },
    { nextSeq: 0 },
    { exited: true, exitCode: "0", nextSeq: 2 },
    { exited: true, exitCode: 0, nextSeq: 2, exit: { signal: "S".repeat(100_000) } },
  ];
  for (const [index, read] of reads.entries()) {
    server.answers.set("process/read", () => ({ ...emptyRead, ...read }));
    await expectBroken(host.adopt(`p${index}`));
  }
});

test("a process that exits twice is a broken promise", async () => {
  const { host, connection } = await open(new FakeServer());
  const process = await host.start(["any"], { processId: "p" });
  connection.exited("p", 1, 0);
  connection.exited("p", 1, 0);
  connection.exited("p", 2, 1);
  expect(await inTime(process.exited, "the exit")).toMatchObject({ exitCode: 0 });
  await expectBroken(process.closed, /exited twice/);
});

test("members that the protocol does not have are dropped", async () => {
  const server = new FakeServer();
  const { host } = await open(server);
  const entry = {
    isDirectory: false,
    isFile: true,
    isSymlink: false,
    size: 1,
    createdAtMs: 0,
    modifiedAtMs: 0,
  };
  server.answers.set("fs/getMetadata", () => ({ ...entry, toString: 1, extra: { deep: [] } }));
  expect(await host.request("fs/getMetadata", { path: "file:///a" })).toEqual(entry);
});

test.each([{ sandboxType: "none" }, {}])(
  "a process that is not in the sandbox it was started for is killed: %j",
  async (answer) => {
    const server = new FakeServer();
    const { host, connection } = await open(server);
    server.answers.set("process/start", ({ processId }) => ({ processId, ...answer }));
    const started = host.start(["any"], { processId: "p", cwd: "/", sandbox: "read-only" });
    await expectBroken(started, /^the server started any without the requested sandbox, so it was killed$/);
    expect((await connection.request("process/terminate")).params).toEqual({ processId: "p" });
    // Without a sandbox, and with one that asks for nothing, it runs.
    await host.start(["any"], { processId: "q" });
    const disabled = { permissions: { type: "disabled" }, windowsSandboxLevel: "disabled" } as const;
    await host.start(["any"], { processId: "r", sandbox: disabled });
  },
);

test("a server that does not describe itself gets nothing that asks for a sandbox", async () => {
  const server = new FakeServer();
  const host = await connect(server.open);
  hosts.push(host);
  const connection = await server.connection(1);
  const refused = { code: "UNSUPPORTED", message: "this server is too old for a sandbox" };
  await expect(host.run(["any"], { sandbox: "read-only" })).rejects.toMatchObject(refused);
  expect(() => host.files.within("read-only")).toThrow(expect.objectContaining(refused));
  expect(connection.requests.map(({ method }) => method)).toEqual(["initialize"]);
});
