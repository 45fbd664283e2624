// `npm run bench:relay`: what a relay costs of requests, starts and output, beside a direct WebSocket, Codex's executor behind
// the same relay, and Codex's own client and executor, in turn and in one run. Fails if a bound is missed. Needs a build and
// the real Codex. `--quick`: a fifth of the work. `--rounds N`: how often each is measured.
import { parseArgs } from "node:util";
import { cpuSeconds } from "../bench/process-costs.mjs";
import { openRealWay } from "../bench/relay/real-client.mjs";
import { openWay, startRelay } from "../bench/relay/ways.mjs";
import { quantile } from "../bench/statistics.mjs";

const MEGABYTE = 1_000_000;
const ROUNDS = 15;
const QUICK_SHARE = 0.2;
/** Codex's client takes seconds to start, so that it takes part in every fifth round, with a part of the work. */
const REAL_ROUNDS = 5;
const REAL_SHARE = 0.2;

/** The median of one way's figures divided by those of another must be `atMost` or `atLeast` the bound. */
const WORKS = [
  {
    work: "rpc",
    about: "request and answer, p50",
    unit: "ms",
    sizes: { warmUp: 5_000, round: 1_000 },
    bounds: [
      { of: "relay to ours", to: "direct to ours", atMost: 3 },
      { of: "relay to ours", to: "relay to codex", atMost: 1.1 },
    ],
  },
  {
    work: "start",
    about: "start to closed",
    unit: "ms",
    hasReal: true,
    sizes: { warmUp: 200, round: 50 },
    bounds: [{ of: "relay to ours", to: "real relay", atMost: 1 }],
  },
  {
    work: "output",
    about: "output of one process",
    unit: "MB/s",
    hasReal: true,
    sizes: { warmUp: 300 * MEGABYTE, round: 100 * MEGABYTE },
    bounds: [
      { of: "relay to ours", to: "direct to ours", atLeast: 0.4 },
      { of: "relay to ours", to: "relay to codex", atLeast: 0.9 },
      { of: "relay to ours", to: "real relay", atLeast: 1 },
    ],
  },
];

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    rounds: { type: "string", default: String(ROUNDS) },
  },
});
const share = values.quick ? QUICK_SHARE : 1;
const rounds = Number(values.rounds);

const relay = await startRelay();
const ways = [];
const realWays = [];
try {
  for (const base of [undefined, relay.base]) {
    for (const kind of ["ours", "codex"]) ways.push(await openWay(kind, base));
    realWays.push(await openRealWay(base));
  }
  for (const one of WORKS) await compareWays(one);
} finally {
  for (const way of [...ways, ...realWays]) await way.stop();
  await relay.stop();
}

async function compareWays({ work, about, unit, sizes, bounds, hasReal = false }) {
  for (const way of ways) await way.measure(work, sizes.warmUp * share);
  const seen = Object.fromEntries([...ways, ...realWays].map(({ way }) => [way, []]));
  const cpu = Object.fromEntries(ways.map(({ way }) => [way, 0]));
  for (let round = 0; round < rounds; round += 1) {
    // None is always the last.
    for (const one of round % 2 === 0 ? ways : ways.toReversed()) {
      const before = processorSeconds(one);
      seen[one.way].push(await one.measure(work, sizes.round * share));
      cpu[one.way] += processorSeconds(one) - before;
    }
    if (hasReal && round % REAL_ROUNDS === 0)
      for (const one of realWays) seen[one.way].push(await one.measure(work, sizes.round * REAL_SHARE));
  }
  for (const { way, pids } of hasReal ? [...ways, ...realWays] : ways) {
    const figure = `${about}, ${way}: ${quantile(seen[way], 0.5).toFixed(3)} ${unit}`;
    console.log(pids === undefined ? figure : `${figure}, processor time ${cpu[way].toFixed(1)} s`);
  }
  for (const bound of bounds) check(about, seen, bound);
}

function check(about, seen, { of, to, atMost, atLeast }) {
  // Both have taken part in these rounds; the others of the more frequent one have no pair.
  const every = seen[of].length / seen[to].length;
  const figures = seen[to].map((value, round) => seen[of][round * every] / value);
  const [low, median, high] = [0.25, 0.5, 0.75].map((at) => quantile(figures, at));
  const required = atMost === undefined ? `at least ${atLeast}` : `at most ${atMost}`;
  const spread = `[${low.toFixed(2)}..${high.toFixed(2)}]`;
  console.log(`${about}, ${of} beside ${to}: ${median.toFixed(2)} times ${spread}, ${required} is required`);
  if (median <= (atMost ?? Number.POSITIVE_INFINITY) && median >= (atLeast ?? Number.NEGATIVE_INFINITY))
    return;
  console.log(`${about}: the bound is missed`);
  process.exitCode = 1;
}

/** Seconds that all processes of a way have run, the relay included. */
function processorSeconds({ pids }) {
  return [...pids, relay.pid].reduce((sum, pid) => sum + cpuSeconds(pid), 0);
}
