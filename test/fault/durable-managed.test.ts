import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { type AddressInfo, connect as connectSocket, createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, expect, it } from "vitest";
import { connect } from "../../src/client/host/connect.ts";
import { descriptorOf } from "../../src/native/peer-process.ts";
import { duplicate } from "../../src/native/spawn.ts";
import { pollUntil, withDeadline } from "./deadline.ts";
import { runCli } from "./durable-server.ts";
import { processesMarked } from "./proc-fs.ts";
import { builtCli } from "./server-under-test.ts";

const DEADLINE_MS = 60_000;

let home: string;
let directory: string;
const children: ChildProcess[] = [];

beforeEach(() => {
  home = mkdtempSync("/var/tmp/durable-");
  directory = join(home, "d");
});

afterEach(async () => {
  await Promise.all(children.splice(0).map((child) => end(child, "SIGKILL")));
  rmSync(home, { recursive: true });
});

function start(args: readonly string[], ...passed: number[]): ChildProcess {
  const child = spawn(process.execPath, [builtCli, ...args], {
    cwd: home,
    env: { PATH: process.env["PATH"], HOME: home },
    stdio: ["ignore", "pipe", "ignore", ...passed],
  });
  children.push(child);
  return child;
}

async function startKeeper(): Promise<ChildProcess> {
  const keeper = start(["durable", "keep", directory]);
  await pollUntil(
    async () => (await runCli(["durable", "status", directory])).code === 0,
    DEADLINE_MS,
    () => "the keeper",
  );
  return keeper;
}

/** Resolves with its URL. */
async function startServer(...passed: number[]): Promise<{ server: ChildProcess; url: string }> {
  const listen = passed.length === 0 ? "ws://127.0.0.1:0" : "ws://fd:3";
  const server = start(["--listen", listen, "--durable", directory], ...passed);
  const lines = createInterface({ input: server.stdout! });
  const [url] = (await withDeadline(once(lines, "line"), DEADLINE_MS, () => "the banner")) as [string];
  return { server, url };
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill(signal);
  await withDeadline(exited, DEADLINE_MS, () => `the end after ${signal}`);
}

it("a server on a socket that it was passed restarts without refusing anybody", async () => {
  await startKeeper();
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as AddressInfo;
  // This program only holds the socket, as a service manager does.
  const fd = duplicate(descriptorOf(listener));
  listener.close();
  const first = await startServer(fd);
  expect(first.url).toBe(`ws://127.0.0.1:${port}`);
  await using host = await connect(first.url);
  const running = await host.start(["cat"], { stdin: "pipe" });
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    await end(children.at(-1)!, signal);
    const waiting = connectSocket(port, "127.0.0.1");
    await once(waiting, "connect");
    waiting.end("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
    await startServer(fd);
    const [answer] = (await withDeadline(once(waiting, "data"), DEADLINE_MS, () => "an answer")) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1.1 200 /);
  }
  await running.write("still here\n");
  await running.closeStdin();
  let text = "";
  for await (const { bytes } of running.output()) text += new TextDecoder().decode(bytes);
  expect([text, (await running.exited).exitCode]).toEqual(["still here\n", 0]);
  closeSync(fd);
});

it("a server whose keeper somebody else starts waits for it, and starts none", async () => {
  const keeper = await startKeeper();
  const second = await runCli(["durable", "keep", directory]);
  expect(second).toMatchObject({ code: 1, err: expect.stringContaining("another server listens there") });
  await end(keeper, "SIGTERM");
  const starting = startServer();
  const lock = join(directory, "lock");
  await pollUntil(
    () => existsSync(lock) && readFileSync("/proc/locks", "utf8").includes(`:${statSync(lock).ino} `),
    DEADLINE_MS,
    () => "the server's lock",
  );
  expect((await runCli(["durable", "status", directory])).code).toBe(1);
  const again = await startKeeper();
  const { url } = await starting;
  await using host = await connect(url);
  expect((await host.run(["echo", "works"])).stdout).toBe("works\n");
  const { out } = await runCli(["durable", "status", "--json", directory]);
  expect((JSON.parse(out) as { keeper: { pid: number } }).keeper.pid).toBe(again.pid);
});

it("SIGTERM ends a keeper that was started so, with everything that it runs", async () => {
  const keeper = await startKeeper();
  const { url } = await startServer();
  await using host = await connect(url);
  const mark = `durable-managed-${process.pid}`;
  await host.start(["bash", "-c", `exec -a ${mark} sleep 300`]);
  await pollUntil(
    () => processesMarked(mark).length === 1,
    DEADLINE_MS,
    () => "the process",
  );
  await end(keeper, "SIGTERM");
  expect([keeper.exitCode, processesMarked(mark)]).toEqual([0, []]);
});
