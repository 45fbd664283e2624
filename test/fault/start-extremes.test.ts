import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pollUntil, withDeadline } from "./deadline.ts";
import { awaitNoneLeft, killMarked } from "./marked-processes.ts";
import { commandLine, descendantsOf, openDescriptors } from "./proc-fs.ts";
import { type ServerUnderTest, startServer } from "./server-under-test.ts";
import { openSession, RpcFailure, type SessionClient, startParams } from "./session-client.ts";

/** The faults found here took 20 s and more, or all memory. */
const DEADLINE_MS = 15_000;
const SETTLE_MS = 60_000;
const PAUSE_MS = 10_000;
const marker = `start-extremes-${randomUUID()}`;

let server: ServerUnderTest;
let client: SessionClient;
let bystander: SessionClient;
let descriptorsBefore: number;

beforeAll(async () => {
  server = await startServer();
  client = await openSession(server.url);
  bystander = await openSession(server.url);
  await runOf("first", { argv: ["true"] });
  descriptorsBefore = openDescriptors(server.pid).length;
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  killMarked(marker);
});

let lastId = 0;

/** How a start ends: its exit code, or its error. Another client is answered all the time. */
async function runOf(name: string, more: object): Promise<unknown> {
  const processId = `${name} ${++lastId}`;
  const over = new AbortController();
  const outcome = startAndWait(processId, more).finally(() => over.abort());
  outcome.catch(() => {}); // awaited below, after the bystander
  while (!over.signal.aborted)
    await withDeadline(
      bystander.request("environment/status"),
      PAUSE_MS,
      () => `another client's answer during ${name}`,
    );
  return withDeadline(outcome, DEADLINE_MS, () => name);
}

async function startAndWait(processId: string, more: object): Promise<unknown> {
  try {
    await client.request("process/start", { ...startParams(processId, []), ...more });
    const params = { processId, until: "closed" };
    return (await client.request<{ exitCode: number }>("process/wait", params)).exitCode;
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    return { code: error.code, errno: (error.data as { errno?: string } | undefined)?.errno };
  }
}

const failed = (errno: string) => ({ code: -32603, errno });
const many = (count: number, text: string): string[] => Array.from({ length: count }, () => text);

describe("a start", () => {
  it.each([
    ["with 200 000 arguments", { argv: ["/bin/true", ...many(200_000, "a")] }, 0],
    ["with 250 000 arguments", { argv: ["/bin/true", ...many(250_000, "a")] }, failed("E2BIG")],
    ["with a long argument", { argv: ["/bin/true", "x".repeat(131_071)] }, 0],
    ["with an argument that is too long", { argv: ["/bin/true", "x".repeat(131_072)] }, failed("E2BIG")],
    ["with 8 MB of arguments", { argv: ["/bin/true", ...many(80, "x".repeat(100_000))] }, failed("E2BIG")],
    ["with an argument of 8 MB", { argv: ["/bin/true", "x".repeat(8e6)] }, failed("E2BIG")],
    ["with a name of 8 MB", { argv: ["x".repeat(8e6)] }, failed("E2BIG")],
    ["with a variable of 8 MB", { argv: ["true"], env: { A: "x".repeat(8e6) } }, failed("E2BIG")],
    [
      "in a directory of 8 MB",
      { argv: ["/bin/true"], cwd: `file:///${"x".repeat(8e6)}` },
      failed("ENAMETOOLONG"),
    ],
    ["with more text than a request may have", { argv: ["/bin/true", "x".repeat(15e6)] }, { code: -32602 }],
    ["with a PATH of 1 MB", { argv: ["none"], env: { PATH: ":".repeat(1e6) } }, failed("E2BIG")],
    [
      "with a PATH of one entry, often",
      { argv: ["none"], env: { PATH: ":".repeat(130_000) } },
      failed("ENOENT"),
    ],
    [
      "with a PATH of many relative entries",
      { argv: ["none"], env: { PATH: Array.from({ length: 20_000 }, (_, i) => i.toString(36)).join(":") } },
      failed("ENOENT"),
    ],
    [
      "of a long name with a long PATH",
      { argv: ["n".repeat(100_000)], env: { PATH: ":".repeat(100_000) } },
      failed("ENAMETOOLONG"),
    ],
    [
      "of a long name with a long PATH on a terminal",
      { argv: ["n".repeat(100_000)], env: { PATH: ":".repeat(100_000) }, tty: true },
      failed("ENOENT"),
    ],
    ["that times out at once", { argv: ["sleep", "1000"], timeoutMs: 0 }, 143],
    ["that never times out", { argv: ["true"], timeoutMs: 2 ** 64 }, 0],
    ["without memory", { argv: ["/bin/true"], limits: { memoryBytes: 1 } }, 139],
    ["with all memory", { argv: ["/bin/true"], limits: { memoryBytes: Number.MAX_SAFE_INTEGER } }, 0],
    [
      "with more files than there can be",
      { argv: ["/bin/true"], limits: { openFiles: Number.MAX_SAFE_INTEGER } },
      failed("EPERM"),
    ],
    [
      "of a program that closes all it has",
      { argv: ["sh", "-c", "exec 0<&- 1>&- 2>&-; sleep 0.1; exit 3"] },
      3,
    ],
    [
      "of a program that closes all it has, on a terminal",
      { argv: ["sh", "-c", "exec 0<&- 1>&- 2>&-; sleep 0.1; exit 3"], tty: true },
      3,
    ],
  ])("%s ends in order", async (name, more, expected) => {
    expect(await runOf(name, more)).toEqual(expected);
  });

  it("of 2000 children at once is ended with all of them", async () => {
    const forks = startParams(
      "forks",
      ["sh", "-c", "i=0; while [ $i -lt 2000 ]; do sleep 1000 & i=$((i+1)); done; echo ready; wait", marker],
      {
        env: { FAULT_MARKER: marker },
      },
    );
    const output: string[] = [];
    const forking = await openSession(server.url, {
      onNotification: ({ method, params }) => {
        if (method === "process/output") output.push(Buffer.from(params.chunk, "base64").toString());
      },
    });
    await forking.request("process/start", forks);
    await pollUntil(
      () => output.join("").includes("ready"),
      60_000,
      () => "2000 children",
    );
    await forking.request("process/terminate", { processId: "forks", mode: "graceful", timeoutMs: 100 });
    await withDeadline(bystander.request("environment/status"), PAUSE_MS, () => "another client's answer");
    await forking.request("process/wait", { processId: "forks", until: "closed" });
    await awaitNoneLeft(marker);
    forking.cut();
  });

  it("leaves nothing behind", async () => {
    const children = (): string[] => descendantsOf(server.pid).map(({ pid }) => commandLine(pid));
    await pollUntil(
      () => openDescriptors(server.pid).length <= descriptorsBefore && children().length === 1,
      SETTLE_MS,
      () =>
        `${descriptorsBefore} descriptors and a warden, not ${openDescriptors(server.pid).join(", ")} and ${children().join(", ")}`,
    );
  });
});
