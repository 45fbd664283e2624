import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { FaultProxy } from "../client/fault-proxy.ts";
import { DRAIN_DEADLINE_MS, expectWork, runWorkload } from "../client/run-workload.ts";
import { runSeed, SeededRandom } from "../fault/seeded-random.ts";
import { startServer } from "../fault/server-under-test.ts";
import { type NatsServer, startNats } from "../fixtures/nats-server.ts";

/** FLEET_FAULT_SECONDS=60 is the long form. */
const SECONDS = Number(process.env["FLEET_FAULT_SECONDS"] ?? 8);
const TOKEN = "a-token-of-more-than-thirty-two-bytes";
/** The way has two links, each of which is cut so often. */
const MAX_LIFE_MS = 3_000;
/** NATS is restarted or stopped for a moment so often, and so long. */
const MAX_PAUSE_MS = 3_000;
const MAX_STALL_MS = 1_500;
const MAX_RUNS = 3;

/** Kills and suspends a NATS server, by turns, until the signal. */
async function disturb(
  nats: NatsServer,
  random: SeededRandom,
  signal: AbortSignal,
  counts: { restarts: number; stalls: number },
): Promise<void> {
  for (let turn = 0; ; turn += 1) {
    await delay(random.between(500, MAX_PAUSE_MS), undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
    if (turn % 2 === 0) {
      counts.restarts += 1;
      await nats.kill();
      await nats.start();
    } else {
      counts.stalls += 1;
      nats.signal("SIGSTOP");
      await delay(random.between(100, MAX_STALL_MS));
      nats.signal("SIGCONT");
    }
  }
}

test(`50 processes at a time, ${SECONDS} s, with cuts on both sides of NATS, which is killed and stalled: nothing lost, nothing twice, nothing left`, {
  timeout: MAX_RUNS * (SECONDS * 1000 + DRAIN_DEADLINE_MS) + 60_000,
}, async () => {
  const random = new SeededRandom(runSeed);
  await using nats = await startNats();
  const open = (): Promise<FaultProxy> => FaultProxy.open(nats.port, random, { maxLifeMs: MAX_LIFE_MS });
  await using nearClient = await open();
  await using nearExecutor = await open();
  await using _server = await startServer({
    args: [
      "--fleet",
      `nats://127.0.0.1:${nearExecutor.port}`,
      "--id",
      "a",
      "--ws-auth",
      "capability-token",
      "--ws-token-sha256",
      createHash("sha256").update(TOKEN).digest("hex"),
      "--detached-session-ttl-ms",
      "180000",
    ],
  });
  const counts = { restarts: 0, stalls: 0 };
  const url = `nats://127.0.0.1:${nearClient.port}/a`;
  // Again if NATS took so long to restart that nothing else has happened to it.
  for (let run = 0; run < MAX_RUNS && counts.stalls === 0; run += 1) {
    // What is left to do then must get through.
    const disturbed = disturb(nats, random, AbortSignal.timeout(SECONDS * 1000), counts);
    let report: Awaited<ReturnType<typeof runWorkload>>;
    try {
      report = await runWorkload({ url, seconds: SECONDS, token: TOKEN });
    } finally {
      await disturbed;
    }
    const faults = { ...counts, nearClient: nearClient.counts, nearExecutor: nearExecutor.counts };
    process.stdout.write(`${JSON.stringify({ seed: runSeed, faults, ...report })}\n`);
    expectWork(report);
  }
  expect(counts.restarts).toBeGreaterThan(0);
  expect(counts.stalls).toBeGreaterThan(0);
  for (const { connections } of [nearClient.counts, nearExecutor.counts])
    expect(connections).toBeGreaterThan(SECONDS / 4);
});
