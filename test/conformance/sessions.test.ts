import { access, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { expectDropped } from "./malformed.ts";
import { exitReport } from "./process-events.ts";
import type { RawPeer } from "./raw-peer.ts";
import { isAlive, resume } from "./session-peers.ts";
import { base64, expectError, fromBase64, start, type VerifyContext, verifies } from "./verifies.ts";

/** Answers each line of its stdin; the answer to `line` is `got line`. */
const echo = (processId: string) =>
  start(processId, ["sh", "-c", 'while read -r line; do echo "got $line"; done'], { pipeStdin: true });

async function write(peer: RawPeer, processId: string, text: string, writeId: string): Promise<void> {
  const result = await peer.request("process/write", { processId, chunk: base64(text), writeId });
  expect(result).toEqual({ status: "accepted" });
}

async function nextOutput(peer: RawPeer, processId: string): Promise<{ seq: number; text: string }> {
  const { params } = await peer.nextNotification("process/output", processId);
  return { seq: params.seq, text: fromBase64(params.chunk) };
}

/** Opens a session, and a second connection to resume it on once the first has been cut. */
async function openSession({ connect }: VerifyContext) {
  const first = await connect();
  const { sessionId } = (await first.handshake()) as { sessionId: string };
  return {
    sessionId,
    first,
    resumed: async () => {
      const next = await connect();
      await resume(next, sessionId);
      next.notify("initialized");
      return next;
    },
  };
}

/**
 * Runs a process that says `one`, waits until it is released, says `two`, and then does as the rest of its script says.
 */
async function withReleasedProcess(
  context: VerifyContext,
  rest: string,
  body: (session: {
    first: RawPeer;
    /** Lets the process say `two` and returns when it has. */
    release: () => Promise<void>;
    resumed: () => Promise<RawPeer>;
  }) => Promise<void>,
): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "conformance-session-"));
  try {
    const { first, resumed } = await openSession(context);
    const script = `echo $$; while [ ! -e go ]; do sleep 0.02; done; echo two; ${rest}`;
    const params = start("p", ["sh", "-c", script], { cwd: `file://${directory}`, pipeStdin: true });
    await first.request("process/start", params);
    const pid = Number((await nextOutput(first, "p")).text);
    expect(isAlive(pid)).toBe(true);
    const release = async () => {
      await writeFile(join(directory, "go"), "");
      await expect.poll(() => readDone(directory), { interval: 20 }).toBe(true);
    };
    await body({ first, release, resumed });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function readDone(directory: string): Promise<boolean> {
  return access(join(directory, "done")).then(
    () => true,
    () => false,
  );
}

verifies("session:new-each", async ({ connect }) => {
  const ids = new Set<string>();
  for (const options of [{}, {}, { resumeSessionId: null }]) {
    const connection = await connect();
    ids.add((await connection.handshake(options)).sessionId);
  }
  expect(ids.size).toBe(3);
});

verifies("session:separate", async ({ peer }) => {
  const one = await peer();
  const other = await peer();
  await one.request("process/start", echo("p"));
  await expectError(other.request("process/read", { processId: "p" }), -32600, "unknown process id p");
  expect(await other.request("process/terminate", { processId: "p" })).toEqual({ running: false });
  const params = { processId: "p", chunk: "", writeId: "1" };
  expect(await other.request("process/write", params)).toEqual({ status: "unknownProcess" });
  expect((await other.request("process/start", start("p", ["sleep", "60"]))).processId).toBe("p");
  expect(await other.request("process/terminate", { processId: "p" })).toEqual({ running: true });
  await other.nextNotification("process/closed", "p");
  expect((await one.request("process/read", { processId: "p" })).exited).toBe(false);
});

verifies("session:separate-notifications", async ({ peer }) => {
  const one = await peer();
  const other = await peer();
  await other.request("process/start", echo("p"));
  await one.request("process/start", start("p", ["echo", "mine"]));
  await one.nextNotification("process/closed", "p");
  await write(other, "p", "x\n", "1");
  expect((await nextOutput(other, "p")).text).toBe("got x\n");
  expect(other.notifications).toHaveLength(1);
});

verifies("session.resume:same-id", async (context) => {
  const { first, sessionId } = await openSession(context);
  first.drop();
  const next = await context.connect();
  const result = await resume(next, sessionId);
  expect(result.sessionId).toBe(sessionId);
  expect(result.environmentInfo).toHaveProperty("shell");
});

verifies("session.resume:after-close", async (context) => {
  const { first, resumed } = await openSession(context);
  await first.request("process/start", echo("p"));
  first.close();
  const next = await resumed();
  expect((await next.request("process/read", { processId: "p" })).exited).toBe(false);
});

verifies("session.resume:after-violation", async (context) => {
  const { first, resumed } = await openSession(context);
  await first.request("process/start", echo("p"));
  await expectDropped(first, () => first.notify("foo"));
  const next = await resumed();
  expect((await next.request("process/read", { processId: "p" })).exited).toBe(false);
});

verifies("session.resume:repeatedly", async (context) => {
  const { first, resumed } = await openSession(context);
  await first.request("process/start", echo("p"));
  let connection = first;
  for (let round = 1; round <= 5; round++) {
    connection.drop();
    connection = await resumed();
    await write(connection, "p", `${round}\n`, `${round}`);
    expect((await nextOutput(connection, "p")).text).toBe(`got ${round}\n`);
  }
});

verifies("session.resume:needs-initialized", async (context) => {
  const { first, sessionId } = await openSession(context);
  first.drop();
  const next = await context.connect();
  await resume(next, sessionId);
  await expectError(
    next.request("process/read", { processId: "p" }),
    -32600,
    "client must send initialized before using exec methods",
  );
});

verifies("session.resume:unknown", async ({ connect }) => {
  const connection = await connect();
  for (const id of ["nope", "", "00000000-0000-4000-8000-000000000000", "é `x`"]) {
    const params = { clientName: "conformance", resumeSessionId: id };
    await expectError(connection.request("initialize", params), -32600, `unknown session id ${id}`);
  }
});

verifies("session.resume:exact", async (context) => {
  const { first, sessionId, resumed } = await openSession(context);
  first.drop();
  await resumed();
  const other = await context.connect();
  for (const id of [sessionId.toUpperCase(), ` ${sessionId}`, sessionId.replaceAll("-", "")]) {
    const params = { clientName: "conformance", resumeSessionId: id };
    await expectError(other.request("initialize", params), -32600, `unknown session id ${id}`);
  }
});

verifies("session.resume:attached", async (context) => {
  const { first, sessionId } = await openSession(context);
  const thief = await context.connect();
  const params = { clientName: "conformance", resumeSessionId: sessionId };
  const message = `session ${sessionId} is already attached to another connection`;
  await expectError(thief.request("initialize", params), -32010, message);
  await expectError(thief.request("initialize", params), -32010, message);
  expect(await first.request("environment/status")).toEqual({ status: "ready" });
});

verifies("session.resume:retry", async (context) => {
  const { first, sessionId } = await openSession(context);
  const next = await context.connect();
  const params = { clientName: "conformance", resumeSessionId: sessionId };
  await expectError(next.request("initialize", params), -32010);
  first.drop();
  expect((await resume(next, sessionId)).sessionId).toBe(sessionId);
});

verifies("session.resume:by-itself", async (context) => {
  const { first, sessionId } = await openSession(context);
  const params = { clientName: "conformance", resumeSessionId: sessionId };
  await expectError(
    first.request("initialize", params),
    -32600,
    "initialize may only be sent once per connection",
  );
});

verifies("session.detached:process-runs", async (context) => {
  await withReleasedProcess(context, "touch done; exec sleep 60", async ({ first, release, resumed }) => {
    first.drop();
    await release();
    const next = await resumed();
    const result = await next.request("process/read", {
      processId: "p",
      afterSeq: 1,
      maxBytes: null,
      waitMs: 10_000,
    });
    expect(result).toMatchObject({
      chunks: [{ seq: 2, stream: "stdout", chunk: base64("two\n") }],
      exited: false,
    });
    expect(result.nextSeq).toBe(3);
  });
});

verifies("session.detached:no-replay", async (context) => {
  const rest = "touch done; read -r line; echo three; exec sleep 60";
  await withReleasedProcess(context, rest, async ({ first, release, resumed }) => {
    first.drop();
    await release();
    const next = await resumed();
    const { chunks } = await next.request("process/read", { processId: "p", afterSeq: 1, waitMs: 10_000 });
    expect(chunks).toHaveLength(1);
    await write(next, "p", "go\n", "1");
    expect(await nextOutput(next, "p")).toEqual({ seq: 3, text: "three\n" });
    expect(next.notifications).toHaveLength(1);
  });
});

verifies("session.detached:exit-kept", async (context) => {
  await withReleasedProcess(context, "touch done; exit 7", async ({ first, release, resumed }) => {
    first.drop();
    await release();
    const next = await resumed();
    const read = async () => next.request("process/read", { processId: "p", afterSeq: 1 });
    await expect.poll(read, { interval: 20 }).toMatchObject({ closed: true });
    const result = await read();
    // The end of a process and its last output are seen by different eyes: either may have the lower number.
    expect([2, 3]).toContain(result.chunks[0]?.seq);
    expect(result).toEqual({
      chunks: [{ seq: expect.any(Number), stream: "stdout", chunk: base64("two\n") }],
      nextSeq: 5,
      exited: true,
      exitCode: 7,
      closed: true,
      failure: null,
      sandboxDenied: false,
      ...(context.target.kind === "ours" && { exit: exitReport }),
    });
  });
});

verifies("session.resume:live-before-initialized", async (context) => {
  const directory = await mkdtemp(join(tmpdir(), "conformance-session-"));
  try {
    const { first, sessionId } = await openSession(context);
    const script = "while [ ! -e go ]; do sleep 0.02; done; echo live; exec sleep 60";
    await first.request("process/start", start("p", ["sh", "-c", script], { cwd: `file://${directory}` }));
    first.drop();
    const next = await context.connect();
    await resume(next, sessionId);
    await writeFile(join(directory, "go"), "");
    expect(await nextOutput(next, "p")).toEqual({ seq: 1, text: "live\n" });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});

verifies("session.resume:gap", async (context) => {
  const { first, resumed } = await openSession(context);
  await first.request("process/start", echo("p"));
  await write(first, "p", "one\n", "1");
  const seen = await nextOutput(first, "p");
  await write(first, "p", "two\n", "2");
  await nextOutput(first, "p");
  first.drop();
  const next = await resumed();
  await write(next, "p", "three\n", "3");
  await nextOutput(next, "p");
  const params = { processId: "p", afterSeq: seen.seq, maxBytes: null, waitMs: 0 };
  const { chunks, nextSeq } = await next.request("process/read", params);
  expect(chunks.map((chunk: { seq: number; chunk: string }) => [chunk.seq, fromBase64(chunk.chunk)])).toEqual(
    [
      [2, "got two\n"],
      [3, "got three\n"],
    ],
  );
  expect(nextSeq).toBe(4);
});

verifies("session.resume:write-ids", async (context) => {
  const { first, resumed } = await openSession(context);
  await first.request("process/start", echo("p"));
  await write(first, "p", "one\n", "w-1");
  expect((await nextOutput(first, "p")).text).toBe("got one\n");
  first.drop();
  const next = await resumed();
  await write(next, "p", "one\n", "w-1");
  await write(next, "p", "two\n", "w-2");
  expect(await nextOutput(next, "p")).toEqual({ seq: 2, text: "got two\n" });
});

verifies("session.resume:while-polling", async (context) => {
  const { first, resumed } = await openSession(context);
  await first.request("process/start", echo("p"));
  const poll = first.request("process/read", { processId: "p", waitMs: 20_000 }, { timeoutMs: 15_000 });
  const lost = expect(poll).rejects.toThrow(/ended/);
  first.drop();
  await lost;
  const next = await resumed();
  await write(next, "p", "x\n", "1");
  expect((await nextOutput(next, "p")).text).toBe("got x\n");
});

verifies("session:process-id-kept", async (context) => {
  const { first, resumed } = await openSession(context);
  await first.request("process/start", echo("p"));
  first.drop();
  const next = await resumed();
  await expectError(next.request("process/start", echo("p")), -32600, "process p already exists");
});
