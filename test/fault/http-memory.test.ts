import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { BodyRecords } from "./body-record.ts";
import { pollUntil, withDeadline } from "./deadline.ts";
import { HttpUpstream } from "./http-upstream.ts";
import { forgetPeak, peakResidentBytes, residentBytes } from "./proc-fs.ts";
import { type ServerUnderTest, startServer } from "./server-under-test.ts";
import { openSession, type SessionClient } from "./session-client.ts";

// HTTP bodies for a client that does not read.

const MIB = 1024 * 1024;
const STREAM_BYTES = 32 * MIB;
const STREAMS = 6;
/** Data that may be in transit for one body: system buffers on both sides, and one read of the server. */
const MAX_UNDER_WAY_BYTES = 16 * MIB;
const ANSWER_BYTES = 32 * MIB;
const ANSWERS = 7;
const STILL_MS = 1_000;
/** Time enough for all requests to reach the upstream server, whatever the machine does. */
const TIMEOUT_MS = 10_000;
const DEADLINE_MS = 60_000;

describe("HTTP bodies for a client that does not read", () => {
  let upstream: HttpUpstream;
  let server: ServerUnderTest;
  const clients: SessionClient[] = [];

  beforeAll(async () => {
    upstream = await HttpUpstream.listen();
  });

  afterEach(async () => {
    for (const client of clients.splice(0)) client.cut();
    await server?.[Symbol.asyncDispose]();
  });

  afterAll(async () => {
    await upstream?.[Symbol.asyncDispose]();
  });

  async function connect(records?: BodyRecords): Promise<SessionClient> {
    server = await startServer();
    const client = await openSession(server.url, records);
    clients.push(client);
    await get(client, "warm", "/warm");
    upstream.bodies.length = 0;
    return client;
  }

  const get = (client: SessionClient, requestId: string, path: string, more: object = {}) =>
    client.request<{ status: number; bodyBase64: string }>("http/request", {
      method: "GET",
      url: upstream.url(path),
      requestId,
      ...more,
    });

  /** Waits until this many bodies have begun and none of them has gone on for a while. */
  async function untilStill(bodies: number): Promise<void> {
    const total = (): number => upstream.bodies.reduce((sum, { written }) => sum + written, 0);
    let last = -1;
    let since = performance.now();
    await pollUntil(
      () => {
        if (total() !== last) {
          last = total();
          since = performance.now();
        }
        return upstream.bodies.length >= bodies && performance.now() - since > STILL_MS;
      },
      DEADLINE_MS,
      () => `a pause after ${upstream.bodies.length} bodies, ${total()} bytes`,
    );
  }

  it("are not read when they begin while its queue is full, and come whole afterwards", async () => {
    const records = new BodyRecords();
    const client = await connect(records);
    const before = residentBytes(server.pid);
    forgetPeak(server.pid);
    const ids = Array.from({ length: STREAMS }, (_, index) => `stream-${index}`);
    const bodies = ids.map((id) => records.expect(id));
    const stream = (id: string) => get(client, id, `/body?bytes=${STREAM_BYTES}`, { streamResponse: true });
    client.stopReading();
    const first = stream(ids[0]!);
    await untilStill(1);
    const others = ids.slice(1).map(stream);
    await untilStill(STREAMS);
    const written = upstream.bodies.map((body) => body.written);
    expect(Math.max(...written)).toBeLessThan(MAX_UNDER_WAY_BYTES);
    expect(peakResidentBytes(server.pid) - before).toBeLessThan(64 * MIB);
    client.resumeReading();
    for (const { status } of await Promise.all([first, ...others])) expect(status).toBe(200);
    const ends = Promise.all(bodies.map(({ ended }) => ended));
    expect(await withDeadline(ends, DEADLINE_MS, () => "the end of all bodies")).toEqual(ids.map(() => null));
    expect(bodies.map(({ bytes }) => bytes)).toEqual(ids.map(() => STREAM_BYTES));
    // They came in any order.
    const sent = upstream.bodies.map(({ hash }) => hash.digest("hex"));
    expect(bodies.map((body) => body.digest()).sort()).toEqual(sent.sort());
    expect(peakResidentBytes(server.pid) - before).toBeLessThan(128 * MIB);
  });

  it("are answered one after another when they are buffered, in bounded memory", async () => {
    const client = await connect();
    const before = residentBytes(server.pid);
    forgetPeak(server.pid);
    client.stopReading();
    const answers = Array.from({ length: ANSWERS }, (_, index) =>
      get(client, `answer-${index}`, `/body?bytes=${ANSWER_BYTES}`),
    );
    await untilStill(ANSWERS);
    expect(peakResidentBytes(server.pid) - before).toBeLessThan(256 * MIB);
    client.resumeReading();
    for (const answer of answers) {
      const { status, bodyBase64 } = await answer;
      expect({ status, length: bodyBase64.length }).toEqual({
        status: 200,
        length: Math.ceil(ANSWER_BYTES / 3) * 4,
      });
    }
  });

  it("do not hold back others, and what is waited for is given up when its time is over", async () => {
    const client = await connect();
    client.stopReading();
    const answers = Array.from({ length: ANSWERS }, (_, index) =>
      get(client, `answer-${index}`, `/body?bytes=${ANSWER_BYTES}`, { timeoutMs: TIMEOUT_MS }).then(
        ({ bodyBase64 }) => bodyBase64.length,
        (error: Error) => error.message,
      ),
    );
    await untilStill(ANSWERS);
    const other = await openSession(server.url);
    clients.push(other);
    const { bodyBase64 } = await get(other, "quick", "/quick");
    expect(Buffer.from(bodyBase64, "base64").toString()).toBe("/quick");
    // Requests that do not fit into the budget wait for the client, until they time out.
    await pollUntil(
      () => upstream.active === 0,
      DEADLINE_MS,
      () => `the end of ${upstream.active} requests upstream`,
    );
    client.resumeReading();
    const ended = await Promise.all(answers);
    const failures = ended.filter((one) => typeof one === "string");
    expect(failures.length).toBeGreaterThan(0);
    // On a slow machine the time may be over before the head is there.
    for (const failure of failures)
      expect(failure).toMatch(/error decoding response body|error sending request for url/);
    for (const length of ended.filter((one) => typeof one === "number"))
      expect(length).toBe(Math.ceil(ANSWER_BYTES / 3) * 4);
  });
});
