import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openFleet } from "../../src/client/index.ts";
import { withDeadline } from "../fault/deadline.ts";
import { type NatsServer, startNats } from "../fixtures/nats-server.ts";

const COUNT = 1_000;
const DEADLINE_MS = 60_000;
const PROGRAM = fileURLToPath(new URL("../../bench/fleet/fake-executors.mjs", import.meta.url));

let nats: NatsServer;
let executors: ChildProcess;

beforeAll(async () => {
  nats = await startNats();
  executors = fork(PROGRAM, [nats.url, String(COUNT)]);
  await withDeadline(once(executors, "message"), DEADLINE_MS, () => "the executors");
});
afterAll(async () => {
  const gone = once(executors, "exit");
  executors.kill("SIGKILL");
  await gone;
  await nats[Symbol.asyncDispose]();
});

test("1 000 executors are listed when a fleet is opened, and one that comes and goes is told among their changes", async () => {
  const fleet = await openFleet({ servers: nats.url });
  try {
    // Their program may pause while it answers; missing executors are then known by their next beat.
    expect(fleet.list().length).toBeGreaterThan(0);
    await expect
      .poll(() => fleet.list().map(({ id }) => id), { timeout: DEADLINE_MS })
      .toEqual(Array.from({ length: COUNT }, (_, at) => `fake-${String(at).padStart(5, "0")}`));
    expect(fleet.pick({ labels: { pool: "fake" } }).id).toMatch(/^fake-/);
    let changes = 0;
    const events: string[] = [];
    const came = new Promise<void>((resolve) => {
      fleet.watch(({ kind, executor }) => {
        if (kind === "changed") changes += 1;
        else events.push(`${kind} ${executor.id}`);
        if (kind === "left") resolve();
      });
    });
    executors.send({ join: "new-1" });
    await withDeadline(came, DEADLINE_MS, () => "the new executor");
    expect(events).toEqual(["joined new-1", "left new-1"]);
    // Each of them reports a new load every 2 s.
    await expect.poll(() => changes, { timeout: DEADLINE_MS }).toBeGreaterThan(COUNT);
    expect(fleet.list()).toHaveLength(COUNT);
  } finally {
    await fleet.close();
  }
});
