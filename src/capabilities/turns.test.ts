import { expect, it, onTestFinished, vi } from "vitest";
import { Turns } from "./turns.ts";

const STEP_MS = 1;

function spin(): void {
  for (const end = performance.now() + STEP_MS; performance.now() < end; );
}

async function work(steps: number): Promise<void> {
  const turns = new Turns();
  for (let step = 0; step < steps; step += 1) {
    if (turns.over) await turns.next();
    spin();
  }
}

/** Rounds of the event loop that go by meanwhile. */
async function roundsDuring(done: Promise<unknown>): Promise<number> {
  let rounds = 0;
  let running = true;
  const count = (): void => {
    rounds += 1;
    if (running) setImmediate(count);
  };
  setImmediate(count);
  await done;
  running = false;
  return rounds;
}

it("lets others continue several times during long work", async () => {
  expect(await roundsDuring(work(100))).toBeGreaterThanOrEqual(8);
});

it("many works at once share the turns", async () => {
  // 200 ms in total; with a turn each, all of them would finish in three rounds.
  const all = Array.from({ length: 20 }, () => work(10));
  expect(await roundsDuring(Promise.all(all))).toBeGreaterThanOrEqual(15);
});

it("work that asks for a turn at once gets it", async () => {
  // The clock of a machine that stands still here would end the turn.
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const turns = new Turns();
  await turns.next();
  await turns.next();
  expect(turns.over).toBe(false);
});
