import { createHash, randomUUID } from "node:crypto";
import { afterEach, describe, expect, it } from "vitest";
import { hashOutput } from "./child-output-hash.ts";
import { pollUntil, withDeadline } from "./deadline.ts";
import { latencies, percentile, whenStill } from "./latencies.ts";
import { awaitMarked, awaitNoneLeft, killMarked } from "./marked-processes.ts";
import { FIRST_FIXED_WIDTH } from "./numbered-lines.ts";
import { residentBytes, writtenBytes } from "./proc-fs.ts";
import { startServer } from "./server-under-test.ts";
import { openSession, type SessionClient, startParams } from "./session-client.ts";

const MIB = 1024 * 1024;
const REQUESTS = 10_000;
const STARTS = 250;
const FLOOD_LAST = FIRST_FIXED_WIDTH + 4 * MIB - 1;
const DEADLINE_MS = 100_000;
const QUIET_MS = 500;
const MAX_GROWTH_BYTES = 40 * MIB;
// More than the socket buffers of both ends and the bounds of a server together, and far less than the flood.
const MAX_AHEAD_BYTES = 32 * MIB;
/** Nine of ten answers to another client; a broken server does not answer at all. */
const MAX_P90_MS = 250;
/** Requests of another client during which a process that is blocked writes nothing. */
const STILL_TURNS = 200;

const marker = `fault-marker-${randomUUID()}`;
afterEach(() => killMarked(marker));

/** Everything has been sent, or the server has stopped taking more: either way the client has done its worst. */
async function sentOrStuck(client: SessionClient): Promise<void> {
  let last = client.unsentBytes;
  let since = performance.now();
  await pollUntil(
    () => {
      const now = client.unsentBytes;
      if (now !== last) since = performance.now();
      last = now;
      return performance.now() - since > QUIET_MS;
    },
    DEADLINE_MS,
    () => `the requests to leave, now ${last} bytes`,
  );
}

/** Resolves with the bytes that a flood has written when it cannot write more. */
const blocked = (flood: number, other: SessionClient): Promise<number> =>
  whenStill(() => writtenBytes(flood), {
    other,
    turns: STILL_TURNS,
    deadlineMs: DEADLINE_MS,
    what: "the flood to be blocked",
  });

describe("a client that sends without reading", () => {
  it(`gets the answers of ${REQUESTS} requests once it reads`, async () => {
    await using server = await startServer();
    const client = await openSession(server.url);
    client.stopReading();
    // The long answers of environment/info are more than the socket buffers hold.
    const answers = Array.from({ length: REQUESTS }, (_, i) =>
      i % 2 === 0
        ? client.request<{ status: string }>("environment/status").then(({ status }) => status)
        : client
            .request<{ shell: { name: string } }>("environment/info")
            .then(({ shell }) => typeof shell.name),
    );
    await sentOrStuck(client);
    client.resumeReading();
    const wanted = Array.from({ length: REQUESTS }, (_, i) => (i % 2 === 0 ? "ready" : "string"));
    expect(await withDeadline(Promise.all(answers), DEADLINE_MS, () => "all answers")).toEqual(wanted);
    expect(await client.request("environment/status")).toEqual({ status: "ready" });
    client.cut();
  });

  it(`gets the answers and the ends of ${STARTS} processes started and terminated`, async () => {
    await using server = await startServer();
    const closed = new Set<string>();
    const client = await openSession(server.url, {
      onNotification: ({ method, params }) => {
        if (method === "process/closed") closed.add(params.processId);
      },
    });
    client.stopReading();
    const answers = Array.from({ length: STARTS }, (_, i) => {
      const params = startParams(`p${i}`, ["sleep", "1000"], {
        tty: i % 5 === 0,
        env: { FAULT_MARKER: marker },
      });
      const start = client.request<{ processId: string }>("process/start", params);
      const terminate = client.request<{ running: boolean }>("process/terminate", { processId: `p${i}` });
      return Promise.all([start, terminate]);
    });
    await sentOrStuck(client);
    client.resumeReading();
    const seen = await withDeadline(Promise.all(answers), DEADLINE_MS, () => "all answers");
    const outcome = seen.map(([{ processId }, { running }]) => ({ processId, running }));
    expect(outcome).toEqual(
      Array.from({ length: STARTS }, (_, i) => ({ processId: `p${i}`, running: true })),
    );
    await pollUntil(
      () => closed.size === STARTS,
      DEADLINE_MS,
      () => `${closed.size} of ${STARTS} closed`,
    );
    await awaitNoneLeft(marker);
    client.cut();
  });
});

describe("a client that stops reading while a process floods it", () => {
  const argv = ["seq", String(FIRST_FIXED_WIDTH), String(FLOOD_LAST)];

  it("blocks only that process, and gets every byte once it reads", async () => {
    const expected = await hashOutput("seq", argv.slice(1));
    await using server = await startServer();
    const other = await openSession(server.url);
    await latencies(other, 200);
    const seen = createHash("sha256");
    let bytes = 0;
    let lastSeq = 0;
    let inOrder = true;
    let end = () => {};
    const over = new Promise<void>((resolve) => {
      end = resolve;
    });
    const client = await openSession(server.url, {
      onNotification: ({ method, params }) => {
        inOrder &&= params.seq === ++lastSeq;
        if (method === "process/closed") end();
        if (method !== "process/output") return;
        const chunk = Buffer.from(params.chunk, "base64");
        seen.update(chunk);
        bytes += chunk.length;
      },
    });
    const residentBefore = residentBytes(server.pid);
    await client.request("process/start", startParams("flood", argv, { env: { FAULT_MARKER: marker } }));
    client.stopReading();
    const [flood = 0] = await awaitMarked(marker, 1);
    const ahead = await blocked(flood, other);
    expect(ahead).toBeGreaterThan(0);
    expect(ahead).toBeLessThan(MAX_AHEAD_BYTES);

    expect(percentile(await latencies(other, 200), 0.9)).toBeLessThan(MAX_P90_MS);
    expect(residentBytes(server.pid) - residentBefore).toBeLessThan(MAX_GROWTH_BYTES);
    expect(writtenBytes(flood)).toBe(ahead);

    client.resumeReading();
    await withDeadline(over, DEADLINE_MS, () => `closed, with ${bytes} of ${expected.bytes} bytes`);
    expect({ bytes, sha256: seen.digest("hex") }).toEqual(expected);
    expect(inOrder).toBe(true);
    client.cut();
    other.cut();
  });

  it("is still heard", async () => {
    await using server = await startServer();
    const client = await openSession(server.url);
    const other = await openSession(server.url);
    await client.request("process/start", startParams("flood", argv, { env: { FAULT_MARKER: marker } }));
    client.stopReading();
    const [flood = 0] = await awaitMarked(marker, 1);
    await blocked(flood, other);
    const answer = client.request("process/terminate", { processId: "flood" });
    await awaitNoneLeft(marker);
    client.resumeReading();
    expect(await answer).toEqual({ running: true });
    client.cut();
    other.cut();
  });
});
