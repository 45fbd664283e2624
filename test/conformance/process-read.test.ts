import { expect } from "vitest";
import {
  arrivedEvents,
  collect,
  exitReport,
  read,
  run,
  shell,
  untilNumber,
  untilOutput,
  write,
} from "./process-events.ts";
import type { RawPeer } from "./raw-peer.ts";
import { base64, expectError, start, verifies } from "./verifies.ts";

// A reader whose wait ends by the clock proves nothing, so waits that must end early are far longer than the test.
const LONG_WAIT_MS = 25_000;
const SHORT_WAIT_MS = 150;

/** A process that echoes line by line: one write, one chunk. It ends on `exit N`. */
const LINE_ECHO = shell('while read word rest; do [ "$word" = exit ] && exit $rest; printf %s "$word"; done');

/** Runs a process whose chunks are exactly these, all on stdout, and which has closed. */
async function runChunks(peer: RawPeer, processId: string, chunks: readonly string[]): Promise<void> {
  await peer.request("process/start", start(processId, LINE_ECHO, { pipeStdin: true }));
  for (const [index, chunk] of chunks.entries()) {
    await write(peer, processId, `${chunk}\n`);
    await untilOutput(peer, processId, new RegExp(`${chunks.slice(0, index + 1).join("")}$`));
  }
  await write(peer, processId, "exit 0\n");
  await collect(peer, processId);
}

function textsOf(result: { chunks: { chunk: string }[] }): string[] {
  return result.chunks.map(({ chunk }) => Buffer.from(chunk, "base64").toString());
}

async function timed<T>(action: () => Promise<T>): Promise<{ value: T; tookMs: number }> {
  const startedAt = performance.now();
  const value = await action();
  return { value, tookMs: performance.now() - startedAt };
}

/** Waits at most the test's length instead of the peer's usual deadline. */
function longRead(peer: RawPeer, processId: string, afterSeq: number) {
  const params = { processId, afterSeq, waitMs: LONG_WAIT_MS };
  return peer.request("process/read", params, { timeoutMs: LONG_WAIT_MS / 2 });
}

const RUNNING = { exited: false, exitCode: null, closed: false, failure: null, sandboxDenied: false };

verifies("process.read:silent-process", async ({ peer }) => {
  const connection = await peer();
  await connection.request("process/start", start("p", ["sleep", "60"]));
  expect(await read(connection, "p")).toEqual({ chunks: [], nextSeq: 1, ...RUNNING });
});

verifies("process.read:closed-process", async ({ peer, target }) => {
  const connection = await peer();
  await run(connection, "p", shell("printf hello; exit 3"));
  expect(await read(connection, "p")).toEqual({
    chunks: [{ seq: expect.any(Number), stream: "stdout", chunk: base64("hello") }],
    nextSeq: 4,
    exited: true,
    exitCode: 3,
    closed: true,
    failure: null,
    sandboxDenied: false,
    ...(target.kind === "ours" && { exit: exitReport }),
  });
});

verifies("process.read:same-as-notifications", async ({ peer }) => {
  const connection = await peer();
  const { events } = await run(connection, "p", shell("for i in 1 2 3 4 5; do echo o$i; echo e$i >&2; done"));
  const result = await read(connection, "p");
  expect(result.chunks).toEqual(
    events
      .filter((event) => event.kind === "output")
      .map(({ seq, stream, bytes }) => ({ seq, stream, chunk: bytes?.toString("base64") })),
  );
  expect(result.chunks.length).toBeGreaterThan(1);
});

verifies("process.read:repeatable", async ({ peer }) => {
  const connection = await peer();
  await run(connection, "p", shell("echo out; echo err >&2"));
  const first = await read(connection, "p");
  expect(first.chunks).toHaveLength(2);
  expect(await read(connection, "p")).toEqual(first);
});

verifies("process.read:after-seq", async ({ peer }) => {
  const connection = await peer();
  await runChunks(connection, "p", ["a", "b", "c"]);
  const texts = [];
  for (const afterSeq of [0, 1, 2, 3, 4, 5]) {
    const result = await read(connection, "p", { afterSeq });
    expect(result).toMatchObject({ nextSeq: 6, closed: true, exitCode: 0 });
    texts.push(textsOf(result).join(""));
  }
  expect(texts).toEqual(["abc", "bc", "c", "", "", ""]);
});

verifies("process.read:after-seq-beyond", async ({ peer }) => {
  const connection = await peer();
  await run(connection, "p", shell("printf a"));
  expect(await read(connection, "p", { afterSeq: 99 })).toMatchObject({
    chunks: [],
    nextSeq: 4,
    closed: true,
  });
});

verifies("process.read:max-bytes-zero", async ({ peer }) => {
  const connection = await peer();
  await runChunks(connection, "p", ["first", "second"]);
  for (const maxBytes of [0, 1, 4]) {
    expect(textsOf(await read(connection, "p", { maxBytes }))).toEqual(["first"]);
  }
});

verifies("process.read:max-bytes-total", async ({ peer }) => {
  const connection = await peer();
  await runChunks(connection, "p", ["a", "bbb", "c"]);
  const returned = [];
  for (const maxBytes of [1, 2, 3, 4, 5, 1000]) {
    returned.push(textsOf(await read(connection, "p", { maxBytes })).join("+"));
  }
  expect(returned).toEqual(["a", "a", "a", "a+bbb", "a+bbb+c", "a+bbb+c"]);
});

verifies("process.read:max-bytes-next-seq", async ({ peer }) => {
  const connection = await peer();
  await runChunks(connection, "p", ["a", "b"]);
  const limited = await read(connection, "p", { maxBytes: 1 });
  const whole = await read(connection, "p", { maxBytes: 2 });
  const nothing = await read(connection, "p", { maxBytes: 2, afterSeq: 2 });
  expect([limited.nextSeq, whole.nextSeq, nothing.nextSeq]).toEqual([2, 3, 5]);
  expect(limited).toMatchObject({ exited: true, exitCode: 0, closed: true });
});

verifies("process.read:pages", async ({ peer }) => {
  const connection = await peer();
  const words = ["one", "two", "three", "four", "five"];
  await runChunks(connection, "p", words);
  const seen = [];
  let afterSeq = 0;
  for (;;) {
    const page = await read(connection, "p", { afterSeq, maxBytes: 7 });
    if (page.chunks.length === 0) break;
    seen.push(textsOf(page));
    afterSeq = page.nextSeq - 1;
  }
  expect(seen).toEqual([["one", "two"], ["three"], ["four"], ["five"]]);
});

verifies("process.read:null-options", async ({ peer }) => {
  const connection = await peer();
  await run(connection, "p", shell("printf a; printf b >&2"));
  const nulls = { afterSeq: null, maxBytes: null, waitMs: null };
  expect(await read(connection, "p", nulls)).toEqual(await read(connection, "p"));
});

verifies("process.read:numbers", async ({ peer }) => {
  const connection = await peer();
  await runChunks(connection, "p", ["a"]);
  for (const member of ["afterSeq", "maxBytes", "waitMs"]) {
    for (const value of [-1, 1.5, 1e30]) {
      await expectError(read(connection, "p", { [member]: value }), -32602, "invalid number");
    }
    for (const value of ["1", true, [], {}]) {
      await expectError(read(connection, "p", { [member]: value }), -32602);
    }
    // What clients send for "no limit"; JSON.stringify cannot write it.
    const params = `{"processId":"p","${member}":18446744073709551615}`;
    connection.sendText(`{"id":"${member}","method":"process/read","params":${params}}`);
    expect(await connection.next((message) => message.id === member)).toMatchObject({
      result: { nextSeq: member === "maxBytes" ? 2 : 4 },
    });
  }
});

verifies("process.read:required-members", async ({ peer }) => {
  const connection = await peer();
  await expectError(connection.request("process/read", {}), -32602, "missing field `processId`");
  await expectError(
    connection.request("process/read", { processId: 1 }),
    -32602,
    "invalid type: number, expected a string",
  );
  await expectError(connection.request("process/read", null), -32602);
});

verifies("process.read:unknown-process", async ({ peer }) => {
  const connection = await peer();
  await expectError(read(connection, "nobody"), -32600, "unknown process id nobody");
  await expectError(
    read(connection, "nobody", { waitMs: LONG_WAIT_MS }),
    -32600,
    "unknown process id nobody",
  );
});

verifies("process.read:wait-output", async ({ peer }) => {
  const connection = await peer();
  await connection.request("process/start", start("p", shell("sleep 0.2; printf late; exec sleep 60")));
  expect(await longRead(connection, "p", 0)).toEqual({
    chunks: [{ seq: 1, stream: "stdout", chunk: base64("late") }],
    nextSeq: 2,
    ...RUNNING,
  });
});

verifies("process.read:wait-unseen-exit", async ({ peer }) => {
  const connection = await peer();
  await connection.request("process/start", start("p", shell("sleep 60 & sleep 0.2; exit 3")));
  expect(await longRead(connection, "p", 0)).toMatchObject({
    chunks: [],
    nextSeq: 2,
    exited: true,
    exitCode: 3,
    closed: false,
  });
});

verifies("process.read:wait-seen-exit", async ({ peer }) => {
  const connection = await peer();
  await connection.request("process/start", start("p", shell("sleep 60 & exit 3")));
  await connection.nextNotification("process/exited", "p");
  const { value, tookMs } = await timed(() => read(connection, "p", { afterSeq: 1, waitMs: SHORT_WAIT_MS }));
  expect(value).toMatchObject({ chunks: [], nextSeq: 2, exited: true, closed: false });
  expect(tookMs).toBeGreaterThanOrEqual(SHORT_WAIT_MS - 5);
});

verifies("process.read:wait-closed", async ({ peer }) => {
  const connection = await peer();
  await connection.request("process/start", start("p", shell("sleep 60 & echo $!; exit 3")));
  const holder = await untilNumber(connection, "p");
  await connection.nextNotification("process/exited", "p");
  const waiting = longRead(connection, "p", 2);
  process.kill(holder, "SIGKILL");
  expect(await waiting).toMatchObject({ chunks: [], nextSeq: 4, exited: true, exitCode: 3, closed: true });
});

verifies("process.read:wait-nothing-to-wait-for", async ({ peer }) => {
  const connection = await peer();
  await run(connection, "p", shell("printf a"));
  for (const afterSeq of [3, 99]) {
    expect(await longRead(connection, "p", afterSeq)).toMatchObject({ chunks: [], nextSeq: 4, closed: true });
  }
});

verifies("process.read:wait-present-output", async ({ peer }) => {
  const connection = await peer();
  await connection.request("process/start", start("p", shell("printf here; exec sleep 60")));
  await untilOutput(connection, "p", /here/);
  expect(await longRead(connection, "p", 0)).toMatchObject({ chunks: [{ seq: 1, chunk: base64("here") }] });
});

verifies("process.read:wait-timeout", async ({ peer }) => {
  const connection = await peer();
  await connection.request("process/start", start("p", shell("printf seen; exec sleep 60")));
  await untilOutput(connection, "p", /seen/);
  const { value, tookMs } = await timed(() => read(connection, "p", { afterSeq: 1, waitMs: SHORT_WAIT_MS }));
  expect(value).toEqual({ chunks: [], nextSeq: 2, ...RUNNING });
  expect(tookMs).toBeGreaterThanOrEqual(SHORT_WAIT_MS - 5);
  expect(arrivedEvents(connection, "p")).toHaveLength(1);
});

verifies("process.read:parts", async ({ peer }) => {
  const connection = await peer();
  await runChunks(connection, "p", ["one", "two", "three"]);
  const part = (afterSeq: number) =>
    connection.request("process/read", { processId: "p", afterSeq, maxBytes: 1, spooled: true });
  for (const [index, text] of ["one", "two"].entries()) {
    const result = await part(index);
    expect(textsOf(result as never)).toEqual([text]);
    expect(result).toMatchObject({ nextSeq: index + 2, more: true, exited: false, closed: false });
    expect(result).not.toHaveProperty("exitSeq");
  }
  const rest = await part(2);
  expect(textsOf(rest as never)).toEqual(["three"]);
  expect(rest).toMatchObject({ nextSeq: 6, exited: true, exitCode: 0, exitSeq: 4, closed: true });
  expect(rest).not.toHaveProperty("more");
});

verifies("process.start:spool", async ({ peer }) => {
  const connection = await peer();
  const refused = connection.request("process/start", start("p", shell("true"), { spool: true }));
  await expectError(refused, -32600, /it is not durable/);
  await run(connection, "p", shell("true"), { spool: false });
});
