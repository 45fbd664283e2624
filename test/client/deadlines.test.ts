import { expect, test } from "vitest";
import { UsageError } from "../../src/base/errors.ts";
import { connect } from "../../src/client/host/connect.ts";
import type { Host } from "../../src/client/host/host.ts";
import { inTime, open } from "./fake-hosts.ts";
import { chunkOf, emptyRead, FakeServer, unanswered } from "./fake-server.ts";

// Aborts and times that hold whatever the server leaves unanswered, and numbers that never come.

const shell = { name: "sh", path: "/bin/sh" };
const extensions = [
  "process/closeStdin",
  "process/resize",
  "process/terminate.mode",
  "process/start.timeoutMs",
];

function serverWithExtensions(): FakeServer {
  const server = new FakeServer();
  server.answers.set("initialize", () => ({
    sessionId: "session-1",
    environmentInfo: { shell, extensions },
  }));
  return server;
}

test("a run with input is given up while the end of its input is unanswered", async () => {
  const server = serverWithExtensions();
  server.answers.set("process/closeStdin", () => unanswered);
  const host = await open(server);
  const controller = new AbortController();
  const running = host.run(["any"], { input: "x", signal: controller.signal });
  running.catch(() => {});
  await server.connections[0]!.request("process/closeStdin");
  const reason = new Error("enough");
  controller.abort(reason);
  await expect(inTime(running, "the run")).rejects.toBe(reason);
});

test("a run with input ends with its process, although its input is unanswered", async () => {
  const server = serverWithExtensions();
  server.answers.set("process/write", () => unanswered);
  const host = await open(server);
  const running = host.run(["any"], { input: "x", processId: "p" });
  const [connection] = server.connections;
  await connection!.request("process/write");
  connection!.exited("p", 1, 4);
  connection!.closedProcess("p", 2);
  expect(await inTime(running, "the run")).toMatchObject({ exitCode: 4 });
});

test("a write behind an unanswered one is given up, and never sent; later ones are", async () => {
  const server = new FakeServer();
  server.answers.set("process/write", () => unanswered);
  const host = await open(server);
  const process = await host.start(["any"], { stdin: "pipe" });
  const [connection] = server.connections;
  const first = process.write("first");
  const controller = new AbortController();
  const second = process.write("second", { signal: controller.signal });
  second.catch(() => {});
  const third = process.write("third");
  const held = await connection!.request("process/write");
  const reason = new Error("enough");
  controller.abort(reason);
  await expect(inTime(second, "the second")).rejects.toBe(reason);
  server.answers.set("process/write", () => ({ status: "accepted" }));
  connection!.answer(held, { status: "accepted" });
  await inTime(Promise.all([first, third]), "the others");
  const sent = connection!.requests
    .filter(({ method }) => method === "process/write")
    .map(({ params }) => atob(params["chunk"] as string));
  expect(sent).toEqual(["first", "third"]);
});

test("the end of input is given up while a write before it is unanswered", async () => {
  const server = serverWithExtensions();
  server.answers.set("process/write", () => unanswered);
  const host = await open(server);
  const process = await host.start(["any"], { stdin: "pipe" });
  const writing = process.write("x");
  writing.catch(() => {});
  const signal = AbortSignal.timeout(20);
  await expect(inTime(process.closeStdin({ signal }), "the end of input")).rejects.toMatchObject({
    name: "TimeoutError",
  });
});

test("leaving the scope of a process has an end although its kill is unanswered", async () => {
  const server = new FakeServer();
  server.answers.set("process/terminate", () => unanswered);
  const host = await open(server);
  const process = await host.start(["any"]);
  const begun = performance.now();
  await inTime(process[Symbol.asyncDispose](), "the end of the scope");
  expect(performance.now() - begun).toBeGreaterThan(1_000);
});

test("communicate that is given up leaves no reader behind that holds the process up", async () => {
  const server = new FakeServer();
  const host = await open(server);
  const process = await host.start(["any"], { processId: "p" });
  const controller = new AbortController();
  const reason = new Error("enough");
  const communicating = process.communicate(undefined, { signal: controller.signal });
  controller.abort(reason);
  await expect(inTime(communicating, "the end")).rejects.toBe(reason);
});

const never = Number.POSITIVE_INFINITY;

test("Infinity is never, wherever a time is taken", async () => {
  const server = serverWithExtensions();
  const options = { connectTimeoutMs: never, initializeTimeoutMs: never, recoveryTimeoutMs: never };
  const host = await open(server, options);
  const process = await host.start(["any"], { processId: "p", timeoutMs: never });
  expect(server.connections[0]!.requests.at(-1)!.params).not.toHaveProperty("timeoutMs");
  const waits = [never, 2 ** 31, 2 ** 40].map((timeoutMs) => process.wait({ timeoutMs }));
  for (const wait of waits) wait.catch(() => {});
  server.connections[0]!.cut();
  const second = await server.connection(2);
  await inTime(host.request("environment/info", {}), "an answer");
  second.exited("p", 1, 5);
  for (const wait of waits) expect(await inTime(wait, "the end")).toMatchObject({ exitCode: 5 });
});

test.each([Number.NaN, -1])("%d is no time", async (ms) => {
  const server = serverWithExtensions();
  for (const name of ["connectTimeoutMs", "initializeTimeoutMs", "recoveryTimeoutMs"])
    await expect((async () => connect(server.open, { [name]: ms }))()).rejects.toBeInstanceOf(UsageError);
  expect(server.attempts).toBe(0);
  const host = await open(server);
  const process = await host.start(["any"]);
  await expect(process.wait({ timeoutMs: ms })).rejects.toBeInstanceOf(UsageError);
  await expect(process.terminate({ timeoutMs: ms })).rejects.toBeInstanceOf(UsageError);
  await expect(process.read({ waitMs: ms })).rejects.toBeInstanceOf(UsageError);
  await expect(host.start(["any"], { timeoutMs: ms })).rejects.toBeInstanceOf(UsageError);
});

test("a time that the wire has no word for is not sent", async () => {
  const host = await open(serverWithExtensions());
  const process = await host.start(["any"]);
  await expect(process.terminate({ timeoutMs: never })).rejects.toBeInstanceOf(UsageError);
  await expect(process.read({ waitMs: never })).rejects.toBeInstanceOf(UsageError);
});

/** A run whose event 2 never arrives, though the end does. */
async function withMissingNumber(server: FakeServer): Promise<ReturnType<Host["run"]>> {
  const host = await open(server);
  const running = host.run(["any"], { processId: "p" });
  const [connection] = server.connections;
  await connection!.request("process/start");
  connection!.output("p", 1, "one ");
  connection!.exited("p", 3, 7);
  connection!.closedProcess("p", 4);
  return running;
}

test("a number that does not come is read again", async () => {
  const server = new FakeServer();
  server.answers.set("process/read", ({ afterSeq }) => ({
    ...emptyRead,
    chunks: [chunkOf(2, "two")].filter(({ seq }) => seq > afterSeq),
    nextSeq: 5,
    exited: true,
    exitCode: 7,
    closed: true,
  }));
  const running = withMissingNumber(server);
  expect(await inTime(running, "the run")).toMatchObject({ stdout: "one two", exitCode: 7, gaps: [] });
});

test("a number that the server does not have is a gap in the end", async () => {
  const server = new FakeServer();
  server.answers.set("process/read", () => emptyRead);
  const running = withMissingNumber(server);
  expect(await inTime(running, "the run")).toMatchObject({
    stdout: "one ",
    exitCode: 7,
    gaps: [{ fromSeq: 2, toSeq: 2 }],
  });
  const reads = server.connections[0]!.requests.filter(({ method }) => method === "process/read");
  expect(reads.length).toBeGreaterThan(0);
  expect(reads.length).toBeLessThan(6);
});

test("numbers that change places are not read again", async () => {
  const server = new FakeServer();
  const host = await open(server);
  const running = host.run(["any"], { processId: "p" });
  const [connection] = server.connections;
  await connection!.request("process/start");
  for (const seq of [2, 1, 4, 3]) connection!.output("p", seq, String(seq));
  connection!.closedProcess("p", 6);
  connection!.exited("p", 5, 0);
  expect(await inTime(running, "the run")).toMatchObject({ stdout: "1234", gaps: [] });
  expect(connection!.requests.map(({ method }) => method)).not.toContain("process/read");
});
