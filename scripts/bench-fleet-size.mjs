// `npm run bench:fleet-size`: a client of a fleet of 1 000 executors, which are one program, through a real server of NATS:
// how long the list takes, how soon a change is told, and whether the memory of the client stays the same while all of them
// change all the time. Fails if a bound is missed. Needs a build and nats-server.
// `--minutes N`: how long memory is watched. `--executors N`: how many there are.
import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { startNats } from "../bench/fleet/nats.mjs";
import { quantile } from "../bench/statistics.mjs";
import { withDeadline } from "../bench/waiting.mjs";

const MAX_LIST_MS = 100;
const MAX_TOLD_MS = 100;
/** What is kept for each executor changes in size by a few bytes from beat to beat. */
const MAX_GROWTH = 1.05;
const LISTS = 11;
const JOINS = 20;
const SAMPLES = 40;

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    executors: { type: "string", default: "1000" },
  },
});
const executors = Number(values.executors);
const watchMs = Number(values.minutes) * 60_000;
let isMissed = false;

function start(name, args, execArgv = []) {
  const child = fork(fileURLToPath(new URL(`../bench/fleet/${name}.mjs`, import.meta.url)), args, {
    execArgv,
  });
  const gone = once(child, "exit");
  const answer = async (what) => {
    const ended = gone.then(() => Promise.reject(new Error(`${what}: ${name} has ended`)));
    ended.catch(() => {});
    const next = new Promise((resolve) => child.once("message", resolve));
    const said = await withDeadline(Promise.race([next, ended]), what);
    if (said.error !== undefined) throw new Error(`${what}: ${said.error}`);
    return said;
  };
  const ask = (message) => {
    child.send(message);
    return answer(JSON.stringify(message));
  };
  const stop = async () => {
    child.kill("SIGKILL");
    await gone;
  };
  return { ready: answer(`the start of ${name}`), ask, stop };
}

function report(what, value, bound, shown) {
  const missed = !(value <= bound);
  isMissed ||= missed;
  console.log(`${what}: ${shown}, at most ${bound} is required${missed ? ": missed" : ""}`);
}

const times = (list) =>
  `median ${quantile(list, 0.5).toFixed(1)} ms [${Math.min(...list).toFixed(1)}..${Math.max(...list).toFixed(1)}]`;

async function measureList(watcher) {
  const opened = [];
  for (let at = 0; at < LISTS; at += 1) {
    const { ms, listed } = await watcher.ask({ ask: "open" });
    if (listed !== executors) throw new Error(`${listed} of ${executors} executors are listed`);
    opened.push(ms);
  }
  // The first one also loads the library of NATS.
  const warm = opened.slice(1);
  report(`list of ${executors}, from opening the fleet`, quantile(warm, 0.5), MAX_LIST_MS, times(warm));
}

async function measureWatch(watcher, fakes) {
  const told = [];
  for (let at = 0; at < JOINS; at += 1) {
    const { joined, at: begun } = await fakes.ask({ join: `new-${at}` });
    // Answers with the time at which it was reported, or never.
    const { at: seen } = await watcher.ask({ ask: "joined", id: joined });
    told.push(Number(BigInt(seen) - BigInt(begun)) / 1e6);
  }
  report("watch, from the beat of a new executor", quantile(told, 0.5), MAX_TOLD_MS, times(told));
}

async function measureMemory(watcher) {
  const samples = [];
  for (let at = 0; at < SAMPLES; at += 1) {
    await delay(watchMs / SAMPLES);
    samples.push(await watcher.ask({ ask: "state" }));
  }
  const [first, last] = [samples[0], samples.at(-1)];
  if (last.listed !== executors) throw new Error(`${last.listed} of ${executors} executors are listed`);
  const seconds = watchMs / 1_000;
  const cpu = (last.cpuMs - first.cpuMs) / ((watchMs * (SAMPLES - 1)) / SAMPLES);
  const mib = (part) =>
    quantile(
      part.map(({ bytes }) => bytes),
      0.5,
    ) /
    1024 /
    1024;
  const [early, late] = [mib(samples.slice(0, SAMPLES / 4)), mib(samples.slice(-SAMPLES / 4))];
  console.log(
    `in ${seconds} s: ${last.changes} changes told, ${(100 * cpu).toFixed(1)} % of a core, resident ${(last.rss / 1024 / 1024).toFixed(0)} MiB`,
  );
  report(
    `memory after ${values.minutes} min, beside its beginning`,
    late / early,
    MAX_GROWTH,
    `${late.toFixed(2)} MiB, ${(late / early).toFixed(3)} times`,
  );
}

const nats = await startNats();
const fakes = start("fake-executors", [nats.url, String(executors)]);
const watcher = start("watcher", [nats.url], ["--expose-gc"]);
try {
  await Promise.all([fakes.ready, watcher.ready]);
  await measureList(watcher);
  await watcher.ask({ ask: "watch" });
  await measureWatch(watcher, fakes);
  await measureMemory(watcher);
} finally {
  await Promise.all([fakes.stop(), watcher.stop()]);
  await nats.stop();
}
if (isMissed) process.exitCode = 1;
