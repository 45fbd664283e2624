import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { connect } from "../../src/client/host/connect.ts";
import type { Host } from "../../src/client/host/host.ts";
import { pollUntil, withDeadline } from "../fault/deadline.ts";
import { isAlive } from "../fault/proc-fs.ts";
import { faultRounds, runSeed, SeededRandom } from "../fault/seeded-random.ts";
import { startServer } from "../fault/server-under-test.ts";
import { measureRunningTime } from "../fixtures/running-time.ts";
import { bundleScript } from "./bundled-script.ts";
import { SilentProxy } from "./silent-proxy.ts";

// A network that goes silent, without FIN or RST, while new connections work.

/** FAULT_ROUNDS=20 is the long form. */
const rounds = Math.max(2, faultRounds);
const ROUNDS_AT_ONCE = 4;
const PROCESSES = 20;
const TICK_MS = 100;
const BACK_DEADLINE_MS = 15_000;
const DEADLINE_MS = 60_000;

interface Work {
  readonly ticks: number;
  readonly exitCode: number;
  readonly tty: boolean;
}

interface Outcome {
  readonly sha256: string;
  readonly bytes: number;
  readonly exitCode: number | null;
}

/** Processes that end at once, before, during and after the silence. */
function someWork(random: SeededRandom): Work[] {
  return Array.from({ length: PROCESSES }, (_, index) => ({
    ticks: random.between(0, 8) * index,
    exitCode: random.between(0, 100),
    tty: index % 4 === 3,
  }));
}

/** Writes numbered lines in time, without a program for each pause. */
const script =
  "exec 3<> <(:); for ((i = 0; i < $1; i++)); do printf '%06d %0200d\\n' $i $i; read -r -t $2 -u 3; done; exit $3";

async function perform(host: Host, { ticks, exitCode, tty }: Work): Promise<Outcome> {
  const argv = ["/bin/bash", "-c", script, "bash", String(ticks), String(TICK_MS / 1000), String(exitCode)];
  const process = await (tty ? host.terminal(argv) : host.start(argv));
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of process.output()) {
    hash.update(chunk.bytes);
    bytes += chunk.bytes.length;
  }
  return { sha256: hash.digest("hex"), bytes, exitCode: (await process.exited).exitCode };
}

const performAll = (host: Host, work: readonly Work[]): Promise<Outcome[]> =>
  withDeadline(
    Promise.all(work.map((one) => perform(host, one))),
    DEADLINE_MS,
    () => `the ends of the processes; the host is ${host.state}`,
  );

/** Resolves when the host has lost its connection and has another that answers. */
async function back(host: Host): Promise<void> {
  await new Promise<void>((resolve) => {
    const stop = host.onStateChange((state) => {
      if (state === "recovering") return;
      stop();
      resolve();
    });
  });
  await host.request("environment/status", {});
}

test.concurrent(
  `${PROCESSES} processes are as if nothing had happened, ${rounds} times, and the host is back within 15 s`,
  async () => {
    await using server = await startServer();
    const seeds = Array.from({ length: rounds }, (_, index) => runSeed + index);
    const backAfter: number[] = [];
    const round = async (seed: number): Promise<void> => {
      const random = new SeededRandom(seed);
      const work = someWork(random);
      const moment = random.between(0, 6_000);
      await using proxy = await SilentProxy.open(server.port);
      const [undisturbed, host] = await Promise.all([connect(server.url), connect(proxy.url)]);
      try {
        const expected = performAll(undisturbed, work);
        const seen = performAll(host, work);
        expected.catch(() => {});
        seen.catch(() => {});
        await delay(moment);
        const isBack = back(host);
        proxy.silence();
        const ran = measureRunningTime();
        await withDeadline(
          isBack,
          DEADLINE_MS,
          () => `the host to be back; it is ${host.state}; seed ${seed}`,
        );
        backAfter.push(Math.round(ran()));
        expect(await seen, `seed ${seed}`).toEqual(await expected);
        expect((await seen).map(({ exitCode }) => exitCode)).toEqual(work.map(({ exitCode }) => exitCode));
        expect((await seen).some(({ bytes }) => bytes > 10_000)).toBe(true);
        expect(proxy.connections).toBeGreaterThan(1);
      } finally {
        await Promise.all([host.close(), undisturbed.close()]);
      }
    };
    while (seeds.length > 0) await Promise.all(seeds.splice(0, ROUNDS_AT_ONCE).map(round));
    process.stdout.write(`back after ${backAfter.join(", ")} ms\n`);
    expect(Math.max(...backAfter)).toBeLessThan(BACK_DEADLINE_MS);
  },
  DEADLINE_MS * 2 + rounds * 30_000,
);

test.concurrent("after a long sleep every call rejects within 10 s, with one code that says that the session is gone", async () => {
  await using server = await startServer({ args: ["--detached-session-ttl-ms", "4000"] });
  await using proxy = await SilentProxy.open(server.port);
  await using bundle = await bundleScript("sleeper.ts");
  const child = spawn(process.execPath, [bundle.path, proxy.url], { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const line = async (what: string): Promise<string> =>
      (await withDeadline(lines.next(), DEADLINE_MS, () => what)).value as string;
    const pid = Number(await line("the process to be started"));
    child.kill("SIGSTOP");
    proxy.silence();
    proxy.dropServerSides();
    // The session expires, and what it ran with it.
    await pollUntil(
      () => !isAlive(pid),
      DEADLINE_MS,
      () => "the end of the session",
    );
    child.kill("SIGCONT");
    const ran = measureRunningTime();
    const outcomes = JSON.parse(await line("the ends of the calls")) as Record<string, string>;
    expect(ran()).toBeLessThan(10_000);
    expect(new Set(Object.values(outcomes))).toEqual(new Set(["SESSION_LOST"]));
    expect(Object.keys(outcomes).length).toBeGreaterThan(6);
  } finally {
    child.kill("SIGKILL");
  }
});

test.concurrent("a server that is held up for some seconds is not taken for silent", async () => {
  await using server = await startServer();
  const host = await connect(server.url);
  const states: string[] = [];
  host.onStateChange((state) => states.push(state));
  process.kill(server.pid, "SIGSTOP");
  const asked = host.request("environment/status", {});
  // Two seconds less than is needed to give it up, for a machine that holds this program up as well.
  await delay(3_000);
  process.kill(server.pid, "SIGCONT");
  expect(await asked).toEqual({ status: "ready" });
  expect(states).toEqual([]);
  await host.close();
});

test.concurrent("the real server does not give a session up, and the host says so in its time", async () => {
  await using server = await startServer({ codex: true });
  await using proxy = await SilentProxy.open(server.port);
  const host = await connect(proxy.url, { recoveryTimeoutMs: 2_000 });
  const remote = await host.start(["/bin/sleep", "60"]);
  const ran = measureRunningTime();
  proxy.silence();
  const { code, reason } = await withDeadline(host.closed, DEADLINE_MS, () => "the end");
  expect(code).toBe("CONNECTION_CLOSED");
  expect(reason).toContain("the server has been silent for 5s; recovery timed out after 2s");
  expect(ran()).toBeLessThan(BACK_DEADLINE_MS);
  await expect(remote.exited).rejects.toMatchObject({ code });
  expect(proxy.connections).toBeLessThan(20);
});
