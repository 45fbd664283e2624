import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createDeferred, type Deferred } from "../../src/base/deferred.ts";
import { silentLogger } from "../../src/base/logger.ts";
import { loadKem } from "../../src/noise/kem.ts";
import { KeyPair } from "../../src/noise/keys.ts";
import { type RelayExecutor, registerExecutor } from "../../src/relay/executor.ts";
import { reachThroughRelay } from "../../src/relay/harness.ts";
import type { Transport } from "../../src/transport/transport.ts";
import { launch, type ServerProcess } from "../conformance/server-process.ts";
import { pollUntil, withDeadline } from "../fault/deadline.ts";
import { peakResidentBytes, residentBytes } from "../fault/proc-fs.ts";

/** RELAY_EXECUTORS=500 is the long form, whose figures docs/performance.md has. */
const longForm = process.env["RELAY_EXECUTORS"];
const EXECUTORS = Number(longForm ?? 50);
const STREAMS_EACH = 2;
const OPENED_AT_A_TIME = 20;
const ROUNDS = longForm === undefined ? 2 : 10;
/** The messages of a round are spread over this time. */
const ROUND_MS = 1_000;
const DEADLINE_MS = 60_000;
/** Enough for everything that may wait for a client to wait. */
const FLOOD_MS = 500;
const MIB = 1024 * 1024;
/** A relay without streams has about 70 MiB. One client that does not read may have 16 MiB waiting. */
const MOST_RESIDENT_BYTES = 70 * MIB + EXECUTORS * STREAMS_EACH * 64 * 1024 + 3 * 16 * MIB;
const FLOOD = "flood";
const CHUNK = "x".repeat(32 * 1024);

let relay: ServerProcess;
let base: string;
const executors: RelayExecutor[] = [];

beforeAll(async () => {
  relay = await launch("ours", ["relay", "--listen", "http://127.0.0.1:0"]);
  base = await relay.banner();
});

afterAll(async () => {
  for (const executor of executors) executor.close();
  await relay.stop("SIGKILL");
});

/** Sends back each message; FLOOD is answered by more than anybody takes. */
function echo(transport: Transport): void {
  let isFlooding = false;
  const pour = (): void => {
    if (isFlooding && transport.queuedBytes < MIB) transport.send(CHUNK, () => setImmediate(pour));
  };
  transport.open({
    message: (text) => {
      if (text !== FLOOD) return transport.send(text);
      isFlooding = true;
      pour();
    },
    drain: () => {},
    close: () => (isFlooding = false),
  });
}

/** One stream to an executor, whose answers can be waited for. */
class Caller {
  static async open(environmentId: string): Promise<Caller> {
    const kem = await loadKem();
    const transport = await reachThroughRelay({
      base,
      environmentId,
      bearer: () => "anyone",
      kem,
      own: new KeyPair(kem),
      timeoutMs: DEADLINE_MS,
      signal: new AbortController().signal,
    });
    return new Caller(transport);
  }

  readonly transport: Transport;
  #answer: Deferred<void> | undefined;

  private constructor(transport: Transport) {
    this.transport = transport;
    transport.open({
      message: () => this.#answer?.resolve(),
      drain: () => {},
      close: () => this.#answer?.reject(new Error("the stream has ended")),
    });
  }

  async roundTripMs(): Promise<number> {
    const begun = performance.now();
    this.#answer = createDeferred<void>();
    this.transport.send("hello");
    await this.#answer.promise;
    return performance.now() - begun;
  }
}

async function sideBySide<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  const worker = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: OPENED_AT_A_TIME }, worker));
}

/** The 99th percentile of one message of each caller in each round, evenly spread. */
async function p99Of(callers: readonly Caller[]): Promise<number> {
  const times: Promise<number>[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const begun = performance.now();
    for (const [index, caller] of callers.entries()) {
      const wait = begun + (index / callers.length) * ROUND_MS - performance.now();
      if (wait > 0) await delay(wait);
      times.push(caller.roundTripMs());
    }
    await withDeadline(Promise.all(times), DEADLINE_MS, () => "the answers of a round");
  }
  const sorted = (await Promise.all(times)).sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length * 0.99)]!;
}

/** A client that asks for a flood and reads none of it, again and again until the signal. Returns how often. */
async function stopReading(environmentId: string, signal: AbortSignal): Promise<number> {
  let floods = 0;
  for (; !signal.aborted; floods += 1) {
    const { transport } = await Caller.open(environmentId);
    transport.send(FLOOD);
    transport.pause();
    await delay(FLOOD_MS, undefined, { signal }).catch(() => {});
    transport.destroy();
  }
  return floods;
}

test(`${EXECUTORS} executors and ${EXECUTORS * STREAMS_EACH} streams: one that does not read slows nobody down`, async () => {
  const names = Array.from({ length: EXECUTORS }, (_, index) => `executor-${index}`);
  const idleBytes = residentBytes(relay.child.pid!);
  await sideBySide(names, async (environmentId) => {
    const options = { base, environmentId, bearer: () => "anyone", logger: silentLogger };
    executors.push(await registerExecutor({ ...options, accept: echo }));
  });
  const callers: Caller[] = [];
  const targets = names.flatMap((name) => Array.from({ length: STREAMS_EACH }, () => name));
  await sideBySide(targets, async (name) => {
    const open = await pollUntil(
      () => Caller.open(name).catch(() => false as const),
      DEADLINE_MS,
      () => name,
    );
    callers.push(open);
  });

  await p99Of(callers);
  const figures: { idle: number; beside: number }[] = [];
  let floods = 0;
  for (let turn = 0; turn < 3; turn += 1) {
    const idle = await p99Of(callers);
    const over = new AbortController();
    const stopped = stopReading(names[0]!, over.signal);
    const beside = await p99Of(callers);
    over.abort();
    floods += await stopped;
    figures.push({ idle, beside });
  }
  const ratios = figures.map(({ idle, beside }) => beside / idle).sort((one, other) => one - other);
  const resident = residentBytes(relay.child.pid!);
  const peak = peakResidentBytes(relay.child.pid!);
  const mib = (bytes: number): string => `${Math.round(bytes / MIB)} MiB`;
  const shown = figures.map(({ idle, beside }) => `${idle.toFixed(1)} -> ${beside.toFixed(1)} ms`).join(", ");
  process.stdout.write(
    `p99 beside a client that does not read: ${shown}; resident ${mib(idleBytes)} idle, ${mib(resident)} now, ${mib(peak)} at most; ${floods} floods\n`,
  );
  if (longForm !== undefined) expect(ratios[1]).toBeLessThan(2);
  expect(Math.max(...figures.map(({ beside }) => beside))).toBeLessThan(250);
  expect(peak).toBeLessThan(MOST_RESIDENT_BYTES);
});
