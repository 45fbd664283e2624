// `npm run bench:fleet`: what a server that is reached over NATS costs, beside the same server over a WebSocket, in turn and
// in one run. Fails if a bound is missed. Needs a build and nats-server.
// `--quick`: a fifth of the work. `--rounds N`: how often each is measured.
import { parseArgs } from "node:util";
import { startNats } from "../bench/fleet/nats.mjs";
import { openWay } from "../bench/fleet/ways.mjs";
import { cpuSeconds } from "../bench/process-costs.mjs";
import { quantile } from "../bench/statistics.mjs";

const MEGABYTE = 1_000_000;
const ROUNDS = 15;
const QUICK_SHARE = 0.2;

/** `compare` makes one figure of a round out of both ways; its median must be `atMost` or `atLeast` the bound. */
const CASES = [
  {
    work: "rpc",
    about: "request and answer, p50",
    unit: "ms",
    sizes: { warmUp: 20_000, round: 2_000 },
    compare: (nats, direct) => nats / direct,
    shown: (value) => `${value.toFixed(2)} times`,
    atMost: 3.5,
  },
  {
    work: "output",
    about: "output of one process",
    unit: "MB/s",
    sizes: { warmUp: 300 * MEGABYTE, round: 200 * MEGABYTE },
    compare: (nats, direct) => nats / direct,
    shown: (value) => `${value.toFixed(2)} times`,
    atLeast: 0.5,
  },
  {
    work: "start",
    about: "start to closed, p50",
    unit: "ms",
    sizes: { warmUp: 300, round: 50 },
    compare: (nats, direct) => nats - direct,
    shown: (value) => `${value.toFixed(2)} ms more`,
    atMost: 2,
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

const nats = await startNats();
const ways = [];
try {
  for (const way of ["direct", "nats"]) ways.push(await openWay(way, nats.url));
  for (const one of CASES) await compareWays(one);
} finally {
  for (const way of ways) await way.stop();
  await nats.stop();
}

async function compareWays({ work, about, unit, sizes, compare, shown, atMost, atLeast }) {
  for (const way of ways) await way.measure(work, sizes.warmUp * share);
  const seen = { direct: [], nats: [] };
  const cpu = { direct: 0, nats: 0 };
  for (let round = 0; round < rounds; round += 1)
    // Neither is always the second.
    for (const one of round % 2 === 0 ? ways : ways.toReversed()) {
      const before = processorSeconds(one);
      seen[one.way].push(await one.measure(work, sizes.round * share));
      cpu[one.way] += processorSeconds(one) - before;
    }
  const figures = seen.nats.map((value, round) => compare(value, seen.direct[round]));
  const median = quantile(figures, 0.5);
  const [low, high] = [quantile(figures, 0.25), quantile(figures, 0.75)];
  for (const way of ["direct", "nats"])
    console.log(
      `${about}, ${way}: ${quantile(seen[way], 0.5).toFixed(3)} ${unit}, processor time ${cpu[way].toFixed(1)} s`,
    );
  const bound = atMost === undefined ? `at least ${atLeast}` : `at most ${atMost}`;
  console.log(`${about}: ${shown(median)} [${low.toFixed(2)}..${high.toFixed(2)}], ${bound} is required`);
  if (median > (atMost ?? Number.POSITIVE_INFINITY) || median < (atLeast ?? Number.NEGATIVE_INFINITY)) {
    console.log(`${about}: the bound is missed`);
    process.exitCode = 1;
  }
}

/** Seconds that all processes of a way have run, that of NATS included. */
function processorSeconds({ serverPid, clientPid }) {
  return cpuSeconds(serverPid) + cpuSeconds(clientPid) + cpuSeconds(nats.pid);
}
