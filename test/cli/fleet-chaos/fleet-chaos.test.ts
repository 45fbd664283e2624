import { mkdtemp, rm } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { runSeed, SeededRandom } from "../../fault/seeded-random.ts";
import type { RunningCommand } from "../command.ts";
import { ChaosFleet } from "./chaos-fleet.ts";
import { ChaosJob, endOf } from "./chaos-job.ts";

// Executors, the client and nodes of NATS are killed at random moments, and executors are cut off while they live. The
// job is resumed until it is done; then what happened is compared with what the ledger says. TEST_FLEET_CHAOS=long is
// the form with 20 executors and 10 000 rows.

const IS_LONG = process.env["TEST_FLEET_CHAOS"] === "long";
const EXECUTORS = IS_LONG ? 20 : 4;
const ROWS = IS_LONG ? 10_000 : 300;
const MAX_RUNS = 200;
const DEADLINE_MS = IS_LONG ? 30 * 60_000 : 300_000;

/** What is done, how often compared with the rest, and how long it lasts. */
const FAULTS = {
  "kill executor": { weight: 3, lastsMs: [0, 3_000] },
  "kill client": { weight: IS_LONG ? 1 : 2, lastsMs: [0, 0] },
  "kill node": { weight: 1, lastsMs: [200, 4_000] },
  "cut executor off": { weight: 2, lastsMs: [1_000, 15_000] },
  "silence executor": { weight: 1, lastsMs: [1_000, 20_000] },
} as const;
type Fault = keyof typeof FAULTS;
const PAUSE_MS: readonly [number, number] = IS_LONG ? [500, 4_000] : [200, 700];
const MAX_FAULTS = IS_LONG ? Number.POSITIVE_INFINITY : 10;
const LONGEST_MS = IS_LONG ? Number.POSITIVE_INFINITY : 7_000;

class Chaos {
  readonly #fleet: ChaosFleet;
  readonly #random: SeededRandom;
  readonly #ended = new AbortController();
  readonly #repairs = new Set<Promise<void>>();
  /** What a fault is being done to. */
  readonly #touched = new Set<unknown>();
  readonly history: string[] = [];
  client: RunningCommand | undefined;

  constructor(fleet: ChaosFleet, random: SeededRandom) {
    this.#fleet = fleet;
    this.#random = random;
  }

  async run(): Promise<void> {
    const bag = Object.entries(FAULTS).flatMap(([name, { weight }]) => Array(weight).fill(name) as Fault[]);
    while (!this.#ended.signal.aborted && this.history.length < MAX_FAULTS) {
      await this.#sleep(this.#random.between(...PAUSE_MS));
      const fault = this.#random.pick(bag);
      const [low, high] = FAULTS[fault].lastsMs;
      const repair = this.#do(fault, Math.min(this.#random.between(low, high), LONGEST_MS));
      this.#repairs.add(repair);
      void repair.finally(() => this.#repairs.delete(repair));
    }
  }

  /** Mends everything. */
  async end(): Promise<void> {
    this.#ended.abort();
    await Promise.all(this.#repairs);
  }

  async #do(fault: Fault, lastsMs: number): Promise<void> {
    const { executors, cluster } = this.#fleet;
    switch (fault) {
      case "kill executor":
        return await this.#to(executors, fault, lastsMs, async (executor) => {
          await this.#fleet.kill(executor);
          return () => this.#fleet.restart(executor);
        });
      case "cut executor off":
        return await this.#to(executors, fault, lastsMs, async ({ relay }) => {
          relay.cut();
          return () => relay.mend();
        });
      case "silence executor":
        return await this.#to(executors, fault, lastsMs, async ({ relay }) => {
          relay.silence();
          return () => relay.mend();
        });
      case "kill node":
        return await this.#to(cluster.nodes, fault, lastsMs, async (node) => {
          await node.kill();
          return () => node.start();
        });
      case "kill client":
        this.history.push(fault);
        this.client?.child.kill("SIGKILL");
    }
  }

  async #to<T>(
    all: readonly T[],
    fault: Fault,
    lastsMs: number,
    act: (one: T) => Promise<() => void | Promise<void>>,
  ): Promise<void> {
    const victim = this.#random.pick(all);
    // Half of them are left alone, so that there is always one.
    const isEnough = all.filter((one) => this.#touched.has(one)).length >= Math.floor(all.length / 2);
    if (this.#touched.has(victim) || isEnough) return;
    this.#touched.add(victim);
    this.history.push(`${fault} ${all.indexOf(victim)} for ${lastsMs} ms`);
    const repair = await act(victim);
    await this.#sleep(lastsMs);
    await repair();
    this.#touched.delete(victim);
  }

  async #sleep(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#ended.signal }).catch(() => {});
  }
}

test(
  `${EXECUTORS} executors, ${ROWS} rows, and kills and partitions at random: one result for each row, and every execution is recorded`,
  async () => {
    const directory = await mkdtemp("/var/tmp/exec-server-chaos-");
    const started = performance.now();
    await using fleet = await ChaosFleet.open(directory, EXECUTORS);
    const job = new ChaosJob(directory, ROWS);
    const chaos = new Chaos(fleet, new SeededRandom(runSeed));
    try {
      const running = chaos.run();
      let summary: Summary | undefined;
      while (summary === undefined) {
        expect(job.runs, "runs of the program").toBeLessThan(MAX_RUNS);
        expect(performance.now() - started, "time for the job").toBeLessThan(DEADLINE_MS);
        const client = job.start();
        chaos.client = client;
        const status = await endOf(client);
        const { stdout, stderr } = await client.ended();
        if (status === null) continue;
        if (status !== 1 || stdout === "")
          expect(stderr).toMatch(/; the same command with --resume continues the job\n$/);
        else summary = JSON.parse(stdout) as Summary;
      }
      chaos.client = undefined;
      await chaos.end();
      await running;
      const counts = job.check();
      await expectNothingLeft(fleet, summary.machines.unreached);
      const seconds = Math.round((performance.now() - started) / 1000);
      process.stdout.write(
        `seed ${runSeed}: ${ROWS} rows on ${EXECUTORS} executors in ${seconds} s, ${job.runs} runs of the program, ` +
          `${chaos.history.length} faults, ${JSON.stringify(counts)}, ${summary.machines.unreached.length} out of reach at the end\n`,
      );
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new Error(`${reason}\nFAULT_SEED ${runSeed}: ${chaos.history.join("; ")}`, { cause: error });
    } finally {
      await chaos.end();
      chaos.client?.child.kill("SIGKILL");
      await rm(directory, { recursive: true, force: true, maxRetries: 5 });
    }
  },
  DEADLINE_MS + 60_000,
);

interface Summary {
  readonly machines: { readonly unreached: readonly string[] };
}

/** No reachable machine keeps anything of the job after its end. */
async function expectNothingLeft(fleet: ChaosFleet, unreached: readonly string[]): Promise<void> {
  await using opened = await fleet.enter();
  const ids = fleet.executors.map(({ id }) => id);
  await expect
    .poll(
      () =>
        opened
          .list()
          .map(({ id }) => id)
          .sort(),
      { timeout: 60_000 },
    )
    .toEqual([...ids].sort());
  for (const id of ids) {
    if (unreached.includes(id)) continue;
    await using host = await opened.connect(id);
    const kept = await host.processes({ scope: "kept" });
    expect(
      kept.map(({ name }) => name),
      `what ${id} keeps`,
    ).toEqual([]);
  }
}
