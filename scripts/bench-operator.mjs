// `npm run bench:operator`: what audit and metrics together cost of the rates of requests and starts, compared with a plain
// server in the same run. Fails if the median is more than 5 %. Run it on a machine that does nothing else: the control,
// a second plain server, says how far its figures can be trusted.
// `--profile`: also their share of the time of the server's main thread, by samples of its stack.
// `--quick`: a fifth of the work. `--pairs N`, `--rounds N`: how many pairs of servers, and rounds with each.
import { parseArgs } from "node:util";
import { observingRates, spread } from "../bench/observing-rates.mjs";
import { observingShare } from "../bench/observing-share.mjs";
import { WORKS } from "../bench/operator-works.mjs";

const MIN_RATE = 0.95;
const PAIRS = 3;
const ROUNDS = 21;
const QUICK_SHARE = 0.2;

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    profile: { type: "boolean", default: false },
    pairs: { type: "string" },
    rounds: { type: "string" },
  },
});
const share = values.quick ? QUICK_SHARE : 1;
const pairs = Number(values.pairs ?? PAIRS);
const rounds = Number(values.rounds ?? ROUNDS * share);

for (const [name, work] of Object.entries(WORKS)) {
  const ratios = await observingRates(work, { pairs, rounds });
  for (const [server, { rate, processor }] of Object.entries(ratios))
    console.log(
      `${name}, ${server}: rate ${shown(rate)}, processor time ${shown(processor)} of the plain server`,
    );
  if (spread(ratios.operated.rate).median < MIN_RATE) {
    console.log(`${name}: audit and metrics cost more than ${percent(1 - MIN_RATE)}`);
    process.exitCode = 1;
  }
  if (values.profile) await printShare(name, work);
}

async function printShare(name, work) {
  const { observing, collecting, seconds, plain } = await observingShare(work, share);
  console.log(
    `${name}, main thread: audit and metrics ${percent(observing)}, garbage ${percent(collecting)}, of ${seconds.toFixed(1)} s`,
  );
  if (plain > 0) {
    console.log(`${name}: a plain server observes`);
    process.exitCode = 1;
  }
}

function shown(ratios) {
  const { median, low, high } = spread(ratios);
  return `${median.toFixed(3)} [${low.toFixed(3)}..${high.toFixed(3)}]`;
}

function percent(part) {
  return `${(100 * part).toFixed(1)} %`;
}
