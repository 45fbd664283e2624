import { describe, expect, it } from "vitest";
import type { Attempt } from "./attempt.ts";
import { attempts } from "./attempts/index.ts";
import { type Outcome, World, type WorldOptions } from "./world.ts";

const MINIMUM_ATTEMPTS = 60;
const MINIMUM_CLASSES = 12;
const SIDE_BY_SIDE = 6;

describe("the escape corpus", () => {
  it.concurrent("succeeds without a sandbox, as far as the kernel has what it tries", async () => {
    const outcomes = await runAll(attempts, { kind: "ours", sandboxed: false });
    const failed = outcomes.filter(({ escaped }) => !escaped);
    report("unavailable on this machine", failed);
    expect(
      failed.filter(({ attempt }) => attempt.mayBeUnavailable === undefined).map(describeOutcome),
    ).toEqual([]);
    const succeeded = outcomes.filter(({ escaped }) => escaped);
    expect(succeeded.length).toBeGreaterThanOrEqual(MINIMUM_ATTEMPTS);
    expect(new Set(succeeded.map(({ attempt }) => attempt.class)).size).toBeGreaterThanOrEqual(
      MINIMUM_CLASSES,
    );
  });

  it.concurrent("fails in a sandbox", async () => {
    const outcomes = await runAll(attempts, { kind: "ours", sandboxed: true });
    expect(outcomes.filter(({ begun }) => !begun).map(describeOutcome)).toEqual([]);
    expect(outcomes.filter(({ escaped }) => escaped).map(describeOutcome)).toEqual([]);
  });

  it.concurrent("gets out of the real server's sandbox in the known ways", async () => {
    const possible = attempts.filter(({ server }) => server !== "unix");
    const outcomes = await runAll(possible, { kind: "codex", sandboxed: true });
    expect(outcomes.filter(({ begun }) => !begun).map(describeOutcome)).toEqual([]);
    const escaped = outcomes.filter((outcome) => outcome.escaped);
    report("the real server's sandbox lets through", escaped);
    expect(escaped.filter(({ attempt }) => attempt.onCodex === undefined).map(describeOutcome)).toEqual([]);
    const expected = outcomes.filter(
      ({ attempt }) => attempt.onCodex === "escapes" && attempt.mayBeUnavailable === undefined,
    );
    expect(expected.filter((outcome) => !outcome.escaped).map(describeOutcome)).toEqual([]);
  });
});

type Tried = Outcome & { readonly attempt: Attempt };

async function runAll(list: readonly Attempt[], options: WorldOptions): Promise<readonly Tried[]> {
  await using world = await World.open(options);
  const outcomes: Tried[] = [];
  const waiting = [...list];
  const work = async () => {
    for (let attempt = waiting.shift(); attempt !== undefined; attempt = waiting.shift())
      outcomes.push({ attempt, ...(await world.run(attempt)) });
  };
  // All have ended before the world does.
  const ends = await Promise.allSettled(Array.from({ length: SIDE_BY_SIDE }, work));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
  return outcomes.map((outcome) => ({ ...outcome, escaped: outcome.escaped || outcome.hasEscapedSince() }));
}

const describeOutcome = ({ attempt, output }: Tried): string =>
  `${attempt.class}: ${attempt.name}: ${output.slice(-300)}`;

function report(what: string, outcomes: readonly Tried[]): void {
  const lines = outcomes.map(
    ({ attempt, output }) => `  ${attempt.class}: ${attempt.name}: ${output.trim().slice(0, 100)}\n`,
  );
  process.stdout.write(`${what}: ${outcomes.length}\n${lines.join("")}`);
}
