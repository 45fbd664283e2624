import { randomUUID } from "node:crypto";
import { afterEach, expect, it } from "vitest";
import { pollUntil, spin } from "./deadline.ts";
import { killMarked } from "./marked-processes.ts";
import { processesMarked } from "./proc-fs.ts";
import { faultRounds, runSeed, SeededRandom } from "./seeded-random.ts";
import { startServer } from "./server-under-test.ts";
import { RpcFailure, SessionClient, startParams } from "./session-client.ts";

const DEADLINE_MS = 60_000;
const ROUNDS = 40;
const LONGEST_SPIN_MS = 4;
const SESSION_ALREADY_ATTACHED = -32010;

const markers: string[] = [];

afterEach(() => {
  for (const marker of markers.splice(0)) killMarked(marker);
});

function markedSleep(): { marker: string; params: object } {
  const marker = `retry-${randomUUID()}`;
  markers.push(marker);
  const params = {
    ...startParams("p", ["sleep", "1000"], { env: { FAULT_MARKER: marker } }),
    idempotencyKey: marker,
  };
  return { marker, params };
}

/** The server may not have seen yet that the last connection is gone. */
async function resume(url: string, sessionId: string): Promise<SessionClient> {
  return pollUntil(
    async () => {
      const client = await SessionClient.connect(url);
      try {
        await client.initialize(sessionId);
        return client;
      } catch (error) {
        client.cut();
        if (error instanceof RpcFailure && error.code === SESSION_ALREADY_ATTACHED) return false;
        throw error;
      }
    },
    DEADLINE_MS,
    () => "the session",
  );
}

/** The processes of a start, once there are any. A program that has just begun shows no environment for a moment. */
async function visible(marker: string): Promise<readonly number[]> {
  return pollUntil(
    () => {
      const pids = processesMarked(marker);
      return pids.length > 0 && pids;
    },
    DEADLINE_MS,
    () => "the process",
  );
}

it("a start whose answer was lost is repeated with its key and starts nothing more", async () => {
  await using server = await startServer();
  const { marker, params } = markedSleep();
  const first = await SessionClient.connect(server.url);
  const sessionId = await first.initialize();
  first.stopReading();
  // Never answered: its connection is cut.
  first.request("process/start", params).catch(() => {});
  const started = await visible(marker);
  first.cut("reset");
  const second = await resume(server.url, sessionId);
  for (let repetition = 0; repetition < 3; repetition++)
    expect(await second.request("process/start", params)).toMatchObject({ processId: "p" });
  expect(started).toHaveLength(1);
  expect(processesMarked(marker)).toEqual(started);
  second.cut();
});

it("a start that is cut at any moment and repeated with its key makes one process", async () => {
  const random = new SeededRandom(runSeed);
  await using server = await startServer();
  for (let round = 0; round < ROUNDS * faultRounds; round++) {
    const { marker, params } = markedSleep();
    const first = await SessionClient.connect(server.url);
    const sessionId = await first.initialize();
    first.request("process/start", params).catch(() => {});
    // The request leaves with the next turn of the event loop.
    await new Promise((resolve) => setImmediate(resolve));
    // Sometimes surely after the start, which a slow machine does not reach while this process spins.
    if (round % 4 === 3) await visible(marker);
    else spin(random.next() * LONGEST_SPIN_MS);
    first.cut(random.pick(["fin", "reset"]));
    const second = await resume(server.url, sessionId);
    const answers = await Promise.all([1, 2].map(() => second.request("process/start", params)));
    const what = `FAULT_SEED ${runSeed}, round ${round}`;
    for (const answer of answers) expect(answer, what).toMatchObject({ processId: "p" });
    expect(await visible(marker), what).toHaveLength(1);
    await second.request("process/terminate", { processId: "p" });
    second.cut();
  }
});
