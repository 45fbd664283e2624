import { describe, expect, it } from "vitest";
import { type Outcome, runScript } from "./scripted-session.ts";
import { faultRounds, runSeed, SeededRandom } from "./seeded-random.ts";
import { startServer } from "./server-under-test.ts";

const SESSIONS_AT_A_TIME = 4;
// A server keeps every finished process for 80 s; a fresh one now and then keeps that from being what is measured.
const SESSIONS_PER_SERVER = 60;
const RANDOM_SESSIONS = 60;
const LONG_FORM_MS = 20 * 60_000;

interface Plan {
  readonly cutAfter: readonly number[];
  readonly seed: number;
}

async function runAll(plans: readonly Plan[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (let at = 0; at < plans.length; at += SESSIONS_PER_SERVER) {
    const batch = plans.slice(at, at + SESSIONS_PER_SERVER);
    await using server = await startServer();
    const lane = async () => {
      for (let plan = batch.shift(); plan !== undefined; plan = batch.shift()) {
        outcomes.push(await runScript(server.url, plan.cutAfter, plan.seed));
      }
    };
    await Promise.all(Array.from({ length: SESSIONS_AT_A_TIME }, lane));
  }
  return outcomes;
}

const total = (outcomes: readonly Outcome[], of: (outcome: Outcome) => number): number =>
  outcomes.reduce((sum, outcome) => sum + of(outcome), 0);

describe("a session whose connection is cut", () => {
  it(
    "loses nothing, wherever one cut falls",
    async () => {
      // How many messages a session has depends on how the output is chopped: take the most of a few.
      const uncut = await runAll([1, 2, 3, 4].map((seed) => ({ cutAfter: [], seed: runSeed + seed })));
      const longest = Math.max(...uncut.map(({ messages }) => messages));
      const plans = Array.from({ length: longest * faultRounds }, (_, i) => ({
        cutAfter: [(i % longest) + 1],
        seed: runSeed + i,
      }));
      const outcomes = await runAll(plans);
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
