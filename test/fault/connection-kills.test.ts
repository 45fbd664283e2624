import { describe, expect, it } from "vitest";
import { type Outcome, runScript } from "./scripted-session.ts";
import { faultRounds, runSeed, SeededRandom } from "./seeded-random.ts";
import { startServer } from "./server-under-test.ts";

const SESSIONS_AT_A_TIME = 4;
// A server keeps every finished process for 80 s; a fresh one now and then keeps that from being what is measured.
const SESSIONS_PER_SERVER = 60;
const RANDOM_SESSIONS = 60;
const RECENT_SESSIONS = 8;
const LONG_FORM_MS = 20 * 60_000;

interface Plan {
  readonly cutAfter: readonly number[];
  readonly seed: number;
}

/** Adds the outcome of each session as soon as it is over. */
async function runAll(plans: Iterable<Plan>, outcomes: Outcome[] = []): Promise<Outcome[]> {
  const iterator = plans[Symbol.iterator]();
  for (;;) {
    const before = outcomes.length;
    await using server = await startServer();
    let left = SESSIONS_PER_SERVER;
    const lane = async () => {
      for (; left > 0; left -= 1) {
        const next = iterator.next();
        if (next.done === true) return;
        outcomes.push(await runScript(server.url, next.value.cutAfter, next.value.seed));
      }
    };
    await Promise.all(Array.from({ length: SESSIONS_AT_A_TIME }, lane));
    if (outcomes.length - before < SESSIONS_PER_SERVER) return outcomes;
  }
}

/**
 * One cut after each message. How many messages a session has depends on how the output is chopped, and that on what
 * else the machine does: as many as the most of the last few have.
 */
function* everyCut(outcomes: readonly Outcome[]): Generator<Plan> {
  let seed = runSeed;
  const longest = (): number => Math.max(...outcomes.slice(-RECENT_SESSIONS).map(({ messages }) => messages));
  for (let round = 0; round < faultRounds; round += 1)
    for (let cutAfter = 1; cutAfter <= longest(); cutAfter += 1) yield { cutAfter: [cutAfter], seed: seed++ };
}

const total = (outcomes: readonly Outcome[], of: (outcome: Outcome) => number): number =>
  outcomes.reduce((sum, outcome) => sum + of(outcome), 0);

describe("a session whose connection is cut", () => {
  it(
    "loses nothing, wherever one cut falls",
    async () => {
      const uncut = [1, 2, 3, 4].map((seed) => ({ cutAfter: [], seed: runSeed + seed }));
      const all = await runAll(uncut);
      await runAll(everyCut(all), all);
      const outcomes = all.slice(uncut.length);
      // One cut of each session is the deliberate one, during which the flood runs over the retained megabyte.
      const moving = total(outcomes, ({ cuts }) => cuts) - outcomes.length;
      expect(moving).toBeGreaterThan(outcomes.length * 0.8);
      expect(outcomes.filter(({ evictedBytes }) => evictedBytes > 0).length).toBeGreaterThan(
        outcomes.length * 0.5,
      );
    },
    LONG_FORM_MS,
  );

  it(
    "loses nothing in a series of cuts, also in the middle of resuming",
    async () => {
      const random = new SeededRandom(runSeed);
      const plans = Array.from({ length: RANDOM_SESSIONS * faultRounds }, (_, i) => {
        const cutAfter: number[] = [];
        const longestGap = random.between(4, 40);
        for (let at = random.between(1, longestGap); at < 400; at += random.between(2, longestGap))
          cutAfter.push(at);
        return { cutAfter, seed: runSeed + i };
      });
      const outcomes = await runAll(plans);
      expect(total(outcomes, ({ cuts }) => cuts)).toBeGreaterThan(outcomes.length * 4);
    },
    LONG_FORM_MS,
  );
});
