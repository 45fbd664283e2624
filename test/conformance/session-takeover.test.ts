import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { measureRunningTime } from "../fixtures/running-time.ts";
import type { RawPeer } from "./raw-peer.ts";
import { base64, expectError, fromBase64, start, type VerifyContext, verifies } from "./verifies.ts";

/** How long a server listens for a sign of life, and what may come on top of that on a busy machine. */
const PATIENCE_MS = 2_000;
const RESUME = { timeoutMs: 20_000 };

async function open({ connect }: VerifyContext): Promise<{ old: RawPeer; sessionId: string }> {
  const old = await connect();
  const { sessionId } = (await old.handshake()) as { sessionId: string };
  return { old, sessionId };
}

/** From now on nothing that the server says is heard, nor answered. */
function silence({ webSocket }: RawPeer): void {
  webSocket?.pause();
}

const resume = (peer: RawPeer, sessionId: string) =>
  peer.request("initialize", { clientName: "conformance", resumeSessionId: sessionId }, RESUME);

const attached = (sessionId: string) => `session ${sessionId} is already attached to another connection`;

async function elapsed(work: Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work;
  return performance.now() - begun;
}

verifies("session.takeover:silent", async (context) => {
  const { old, sessionId } = await open(context);
  const echo = ["sh", "-c", 'echo ready; while read -r line; do echo "got $line"; done'];
  await old.request("process/start", start("p", echo, { pipeStdin: true }));
  await old.nextNotification("process/output", "p");
  silence(old);
  const next = await context.connect();
  const waitedMs = await elapsed(resume(next, sessionId));
  expect(waitedMs).toBeGreaterThan(PATIENCE_MS - 100);
  next.notify("initialized");
  expect(await next.request("process/read", { processId: "p" })).toMatchObject({ exited: false, nextSeq: 2 });
  await next.request("process/write", { processId: "p", chunk: base64("x\n"), writeId: "1" });
  const { params } = await next.nextNotification("process/output", "p");
  expect([params.seq, fromBase64(params.chunk)]).toEqual([2, "got x\n"]);
  // It belongs to the new connection as it did to the old one.
  const thief = await context.connect();
  await expectError(resume(thief, sessionId), -32010, attached(sessionId));
});

verifies("session.takeover:farewell", async (context) => {
  const directory = await mkdtemp("/var/tmp/conformance-takeover-");
  try {
    const { old, sessionId } = await open(context);
    const closed = once(old.webSocket!, "close");
    silence(old);
    const next = await context.connect();
    await resume(next, sessionId);
    next.notify("initialized");
    // Still on its way when the session was handed over.
    const marker = join(directory, "marker");
    old.sendText(JSON.stringify({ id: 9, method: "fs/writeFile", params: { path: marker, dataBase64: "" } }));
    await next.request("environment/status");
    old.webSocket?.resume();
    const [code, reason] = (await closed) as [number, Buffer];
    expect([code, reason.toString()]).toEqual([4010, "another connection has taken over the session"]);
    expect(await next.request("environment/status")).toEqual({ status: "ready" });
    expect(existsSync(marker)).toBe(false);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});

verifies("session.takeover:alive", async (context) => {
  const { old, sessionId } = await open(context);
  silence(old);
  const thief = await context.connect();
  const refused = expectError(resume(thief, sessionId), -32010, attached(sessionId));
  const answer = old.request("environment/status", undefined, RESUME);
  await refused;
  old.webSocket?.resume();
  expect(await answer).toEqual({ status: "ready" });
  expect(await old.request("environment/status")).toEqual({ status: "ready" });
});

verifies("session.takeover:race", async (context) => {
  const { old, sessionId } = await open(context);
  silence(old);
  const claimants = [await context.connect(), await context.connect(), await context.connect()];
  const results = await Promise.allSettled(claimants.map((claimant) => resume(claimant, sessionId)));
  const refusals = results.flatMap((result) =>
    result.status === "rejected" ? [result.reason as Error] : [],
  );
  expect(refusals.map(({ message }) => message)).toEqual([attached(sessionId), attached(sessionId)]);
  const winner = claimants[results.findIndex(({ status }) => status === "fulfilled")]!;
  winner.notify("initialized");
  expect(await winner.request("environment/status")).toEqual({ status: "ready" });
});

verifies("session.takeover:leaves", async (context) => {
  const { old, sessionId } = await open(context);
  silence(old);
  const next = await context.connect();
  const resumed = resume(next, sessionId);
  // The question is on its way when the answer to this is.
  await (await context.peer()).request("environment/status");
  const ran = measureRunningTime();
  old.drop();
  await resumed;
  expect(ran()).toBeLessThan(PATIENCE_MS - 200);
});

verifies("session.takeover:gives-up", async (context) => {
  const { old, sessionId } = await open(context);
  silence(old);
  const first = await context.connect();
  void resume(first, sessionId).catch(() => {});
  const other = await context.peer();
  await other.request("environment/status");
  first.drop();
  await first.closed;
  // Long enough for an answer that is not received.
  await other.request("process/start", start("clock", ["sleep", "60"]));
  await other.request("process/read", { processId: "clock", waitMs: PATIENCE_MS + 500 }, RESUME);
  old.webSocket?.resume();
  expect(await old.request("environment/status")).toEqual({ status: "ready" });
});

verifies("session.takeover:pipelined", async (context) => {
  const { old, sessionId } = await open(context);
  await old.request("process/start", start("p", ["sleep", "60"]));
  silence(old);
  const next = await context.connect();
  const other = await context.peer();
  const answers: string[] = [];
  const resumed = resume(next, sessionId).finally(() => answers.push("of the session"));
  next.notify("initialized");
  const read = next.request("process/read", { processId: "p" }, RESUME);
  await other.request("environment/status").finally(() => answers.push("of another"));
  expect(((await resumed) as { sessionId: string }).sessionId).toBe(sessionId);
  expect(await read).toMatchObject({ exited: false });
  expect(answers).toEqual(["of another", "of the session"]);
});

verifies(
  "session.takeover:end-not-missed",
  async (context) => {
    const { old, sessionId } = await open(context);
    await old.request(
      "process/start",
      start("p", ["sh", "-c", "read line; echo last; exit 7"], { pipeStdin: true }),
    );
    silence(old);
    old.sendText(
      JSON.stringify({
        id: 9,
        method: "process/write",
        params: { processId: "p", chunk: base64("\n"), writeId: "1" },
      }),
    );
    const other = await context.peer();
    await other.request("process/start", start("clock", ["sleep", "120"]));
    // Longer than an ended process is kept for a client that has heard of it.
    await other.request("process/read", { processId: "clock", waitMs: 33_000 }, { timeoutMs: 60_000 });
    const next = await context.connect();
    await resume(next, sessionId);
    next.notify("initialized");
    const { chunks, exitCode, closed } = await next.request("process/read", { processId: "p" });
    expect([fromBase64(chunks[0]?.chunk ?? ""), exitCode, closed]).toEqual(["last\n", 7, true]);
  },
  { timeoutMs: 90_000, concurrent: true },
);
