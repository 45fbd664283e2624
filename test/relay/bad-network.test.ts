import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { DRAIN_DEADLINE_MS, expectWork, runWorkload } from "../client/run-workload.ts";
import type { ServerKind } from "../conformance/server-process.ts";
import { pollUntil } from "../fault/deadline.ts";
import { runSeed, SeededRandom } from "../fault/seeded-random.ts";
import { FAULTS, type Fault, type Leg } from "./leg-proxy.ts";
import { RelayProgram } from "./relay-program.ts";

/** RELAY_FAULT_SECONDS=60 is the long form, and has the real executor, too. */
const longForm = process.env["RELAY_FAULT_SECONDS"];
const SECONDS = Number(longForm ?? 4);
const KINDS: readonly ServerKind[] = longForm === undefined ? ["ours"] : ["ours", "codex"];
/** A silence lasts until an end notices it, after 15 s: a short run has no time for it. */
const SOME_FAULTS = longForm === undefined ? FAULTS.filter((fault) => fault !== "silence") : FAULTS;
const LONGEST_PAUSE_MS = longForm === undefined ? 700 : 4_000;
/** How long the relay is away. */
const LONGEST_OUTAGE_MS = longForm === undefined ? 200 : 10_000;
/** A process may meet several silences, each of which takes 15 s to be noticed. */
const TASK_MS = longForm === undefined ? 45_000 : 120_000;
const CONNECT_DEADLINE_MS = 60_000;
const LEGS: readonly Leg[] = ["executor", "client"];

type Disturbance = "kill" | readonly [Leg, Fault];

/** Each fault of each leg, and the death of the relay, in an order of their own for each round. */
function* disturbances(kind: ServerKind, random: SeededRandom): Generator<Disturbance> {
  const all: readonly Disturbance[] = [
    "kill",
    ...LEGS.flatMap((leg) => SOME_FAULTS.map((fault) => [leg, fault] as const)),
  ];
  // Codex's executor notices silence after 60 to 90 s; by then, it has forgotten what had ended before.
  const bearable = all.filter((each) => kind === "ours" || String(each) !== "executor,silence");
  for (;;) {
    const left = [...bearable];
    while (left.length > 0) yield left.splice(random.between(0, left.length - 1), 1)[0]!;
  }
}

/** Disturbs a way to the executor for so long, once it works; returns how often the relay was killed. */
async function disturb(
  relay: RelayProgram,
  { kind, seconds }: { readonly kind: ServerKind; readonly seconds: number },
): Promise<number> {
  const random = new SeededRandom(runSeed);
  let kills = 0;
  // The program that uses it is built and started first.
  await pollUntil(
    () => relay.proxy.isBusy("client"),
    CONNECT_DEADLINE_MS,
    () => "a client",
  );
  const signal = AbortSignal.timeout(seconds * 1000);
  for (const disturbance of disturbances(kind, random)) {
    await delay(random.between(100, LONGEST_PAUSE_MS), undefined, { signal }).catch(() => {});
    relay.proxy.heal();
    while (!relay.proxy.isBusy("client") && !signal.aborted) await delay(20);
    if (signal.aborted) break;
    if (longForm !== undefined) process.stdout.write(`${new Date().toISOString()} ${String(disturbance)}\n`);
    if (disturbance === "kill") {
      kills += 1;
      await relay.kill();
      await delay(random.between(0, LONGEST_OUTAGE_MS));
      await relay.start();
    } else relay.proxy.disturb(...disturbance);
  }
  return kills;
}

describe.each(KINDS)("50 processes at a time through a bad relay, executor of kind %s", (kind) => {
  test(`${SECONDS} s: nothing lost, nothing twice, nothing left`, {
    timeout: CONNECT_DEADLINE_MS + SECONDS * 1000 + DRAIN_DEADLINE_MS + TASK_MS + 60_000,
  }, async () => {
    await using relay = await RelayProgram.start();
    await relay.executor(kind, "there", {
      args: kind === "ours" ? ["--detached-session-ttl-ms", "180000"] : [],
    });
    const url = `${relay.base.replace("http:", "relay+http:")}/there`;
    const [report, kills] = await Promise.all([
      runWorkload({ url, seconds: SECONDS, taskMs: TASK_MS }),
      disturb(relay, { kind, seconds: SECONDS }),
    ]);
    const faults = { ...relay.proxy.counts, kills };
    process.stdout.write(`${JSON.stringify({ kind, seed: runSeed, faults, ...report })}\n`);
    expectWork(report);
    expect(report.recoveries).toBeGreaterThan(0);
  });
});
