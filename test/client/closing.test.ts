import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { ProtocolError } from "../../src/base/errors.ts";
import { connect } from "../../src/client/host/connect.ts";
import { withDeadline } from "../fault/deadline.ts";
import { isAlive } from "../fault/proc-fs.ts";
import { bundleScript } from "./bundled-script.ts";
import { type ClientTarget, clientTargets } from "./client-targets.ts";
import { inTime, open } from "./fake-hosts.ts";
import { chunkOf, emptyRead, FakeServer, unanswered } from "./fake-server.ts";

// The end of a host: what is delivered, what settles and how, and what stays open.

const ROUNDS = 8;
const shell = { name: "sh", path: "/bin/sh" };
const cli = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));
const unhandled: unknown[] = [];
const note = (error: unknown): void => void unhandled.push(error);

beforeAll(() => void process.on("unhandledRejection", note));
afterAll(() => void process.off("unhandledRejection", note));
afterEach(() => expect(unhandled.splice(0)).toEqual([]));

describe.each(clientTargets)("on $name", ({ start }) => {
  let target: ClientTarget;

  beforeAll(async () => {
    target = await start();
  });

  afterAll(() => target.stop());

  test("close ends processes, and each reader, run and waiter gets the end in the same way every time", async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const host = await target.connect();
      const script = "echo first; exec sleep 60";
      const process = await host.start(["/bin/sh", "-c", script]);
      const silent = await host.start(["/bin/sleep", "60"]);
      const running = host.run(["/bin/sh", "-c", script]);
      const fed = host.run(["/bin/sh", "-c", "cat; echo first; exec sleep 60"], { input: "in\n" });
      const reading = (async () => {
        let text = "";
        for await (const { bytes } of process.output()) text += Buffer.from(bytes).toString();
        return text;
      })();
      const ended = Promise.all([reading, running, fed, process.exited, process.closed, silent.wait()]);
      ended.catch(() => {});
      // Some rounds close while output is on its way, some after it.
      if (round % 2 === 0) await process.woken(0);
      await inTime(host.close(), "the end of the host");
      const [text, run, fedRun, exit, , silentExit] = await inTime(ended, "the end of the readers");
      if (round % 2 === 0) expect(text).toBe("first\n");
      expect("first\n").toContain(text);
      expect(run.exitCode).toBe(137);
      expect(fedRun.exitCode).toBe(137);
      expect(exit.exitCode).toBe(137);
      expect(silentExit.exitCode).toBe(137);
      expect(await host.closed).toEqual({ reason: undefined, code: undefined });
      await expect(host.run(["/bin/true"])).rejects.toMatchObject({
        code: "CONNECTION_CLOSED",
        message: "the exec-server client was closed",
      });
    }
  });

  test("a write to a process that has exited is refused", async () => {
    const host = await target.connect();
    const process = await host.start(["/bin/sh", "-c", "exit 3"], { stdin: "pipe" });
    await process.exited;
    await expect(process.write("late")).rejects.toMatchObject({ code: "STDIN_CLOSED" });
    await expect(process.write("")).rejects.toMatchObject({ code: "STDIN_CLOSED" });
    const terminal = await host.terminal(["/bin/true"]);
    await terminal.exited;
    await expect(terminal.write("late")).rejects.toMatchObject({ code: "STDIN_CLOSED" });
    await host.close();
  });
});

test("a reader that has stopped gets all that came before the end, after the host is closed", async () => {
  const server = new FakeServer();
  server.answers.set("initialize", () => ({
    sessionId: "session-1",
    environmentInfo: { shell, extensions: ["process/flow"] },
  }));
  const host = await open(server);
  const process = await host.start(["any"], { processId: "p" });
  const reader = process.output();
  const [connection] = server.connections;
  const block = "b".repeat(256 * 1024);
  for (let seq = 1; seq <= 6; seq += 1) connection!.output("p", seq, block);
  await connection!.request("process/flow");
  // It is let go, or a server that holds the process back would keep the end to itself.
  server.answers.set("process/flow", ({ paused }) => {
    expect(paused).toBe(false);
    connection!.output("p", 7, "the last");
    return {};
  });
  await inTime(host.close(), "the end");
  let bytes = 0;
  for await (const chunk of reader) bytes += chunk.bytes.length;
  expect(bytes).toBe(6 * block.length + "the last".length);
  expect(await process.exited).toMatchObject({ exitCode: 137 });
});

test("close has an end although the server does not answer it", async () => {
  const server = new FakeServer();
  server.answers.set("process/terminate", () => unanswered);
  const host = await open(server);
  const process = await host.start(["any"]);
  const asked = host.request("fs/copy", {
    sourcePath: "file:///a",
    destinationPath: "file:///b",
    recursive: false,
  });
  server.answers.set("fs/copy", () => unanswered);
  const running = host.run(["any"]);
  const outcomes = Promise.allSettled([asked, running, process.exited]);
  await inTime(host.close(), "the end");
  for (const outcome of (await inTime(outcomes, "the others")).slice(1))
    expect(outcome).toMatchObject({ status: "rejected", reason: { code: "CONNECTION_CLOSED" } });
});

test("a host whose opener never settles can be closed, and gives up in its time", async () => {
  for (const way of ["close", "time"]) {
    const server = new FakeServer();
    let opened = 0;
    const openOnce = () => {
      opened += 1;
      return opened === 1 ? server.open() : new Promise<never>(() => {});
    };
    const host = await connect(openOnce, { recoveryTimeoutMs: way === "time" ? 300 : 60_000 });
    const waiting = host.request("environment/info", {}).catch((error: unknown) => error);
    await waiting;
    server.connections[0]!.cut();
    const late = host.request("environment/info", {}).catch((error: unknown) => error);
    if (way === "close") await inTime(host.close(), "the end");
    const { reason } = await inTime(host.closed, "the end");
    expect(await late).toMatchObject({ code: "CONNECTION_CLOSED" });
    if (way === "time") expect(reason).toContain("recovery timed out after 300ms");
  }
});

test("a connection that is opened too late is closed again", async () => {
  const server = new FakeServer();
  let arrive = (): void => {};
  const opening = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const openLate = async () => {
    await opening;
    return server.open();
  };
  const connecting = connect(openLate, { connectTimeoutMs: 50 });
  await expect(connecting).rejects.toMatchObject({
    code: "TIMED_OUT",
    message: "timed out connecting to exec-server after 50ms",
  });
  arrive();
  await inTime((await server.connection(1)).closed, "the end of the connection");
});

test.each<[string, unknown]>([
  ["extensions that are no list", { sessionId: "s", environmentInfo: { shell, extensions: 5 } }],
  ["an extension that is no name", { sessionId: "s", environmentInfo: { shell, extensions: [5] } }],
  ["a directory that is no text", { sessionId: "s", environmentInfo: { shell, cwd: {} } }],
  ["an environment that is none", { sessionId: "s", environmentInfo: "here" }],
])("%s in the handshake are a ProtocolError, and the connection is closed", async (_, answer) => {
  const server = new FakeServer();
  server.answers.set("initialize", () => answer);
  await expect(connect(server.open)).rejects.toBeInstanceOf(ProtocolError);
  await inTime(server.connections[0]!.closed, "the end of the connection");
});

test("a resume that is answered with another session is a ProtocolError", async () => {
  const server = new FakeServer();
  server.answers.set("initialize", () => ({ sessionId: "another" }));
  await expect(connect(server.open, { resumeSessionId: "mine" })).rejects.toBeInstanceOf(ProtocolError);
  await inTime(server.connections[0]!.closed, "the end of the connection");
});

test("a recovery that is answered with another session fails everything with a ProtocolError", async () => {
  const server = new FakeServer();
  const host = await open(server);
  const process = await host.start(["any"]);
  server.answers.set("initialize", () => ({ sessionId: "another" }));
  server.answers.set("process/read", () => ({ ...emptyRead, chunks: [chunkOf(1, "foreign")], nextSeq: 2 }));
  server.connections[0]!.cut();
  expect((await inTime(host.closed, "the end")).code).toBe("PROTOCOL_ERROR");
  await expect(process.exited).rejects.toBeInstanceOf(ProtocolError);
  await expect(process.output().next()).rejects.toBeInstanceOf(ProtocolError);
  expect(server.attempts).toBe(2);
});

test("a program ends by itself after close, although a grandchild of a stdio server holds its stderr", async () => {
  await using script = await bundleScript("held-stderr.ts");
  const child = spawn(process.execPath, [script.path, cli], { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  child.stdout.on("data", (bytes: Buffer) => {
    text += bytes.toString();
  });
  try {
    const [code] = (await withDeadline(
      once(child, "close"),
      60_000,
      () => `the end of the program; ${text}`,
    )) as [number | null];
    expect(code).toBe(0);
    const [grandchild = 0, said] = text.trim().split(" ");
    // It was there to the last.
    expect(isAlive(Number(grandchild))).toBe(true);
    process.kill(Number(grandchild), "SIGKILL");
    expect(said).toBe("ran");
  } finally {
    child.kill("SIGKILL");
  }
});
