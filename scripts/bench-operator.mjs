// `npm run bench:operator`: what audit and metrics together cost, in requests and in starts: the same work alternately on
// a server with both and on one without, in many short rounds. The processor time of the server per operation counts: it
// is what a busy server can lose of its rate, and others on the machine disturb it less. The rates are printed besides.
// Fails if the median of the pairs is more than 5 % and no accident.
import { parseArgs } from "node:util";
import { measureCost, openServers, WORKS } from "../bench/operator-cost.mjs";

const MAX_COST = 0.05;

const { values } = parseArgs({ options: { rounds: { type: "string", default: "60" } } });
const opened = await openServers();
try {
  for (const [name, work] of Object.entries(WORKS)) {
    const { processor, rate, plain, operated } = await measureCost(opened, work, Number(values.rounds));
    console.log(
      `${name}: processor ${plain.microseconds.toFixed(1)} -> ${operated.microseconds.toFixed(1)} us, ${shown(processor)}; ` +
        `rate ${plain.rate.toFixed(0)} -> ${operated.rate.toFixed(0)} /s, ${shown(rate)}`,
    );
    if (processor.median - processor.error > 1 + MAX_COST) process.exitCode = 1;
  }
} finally {
  await opened.stop();
}

function shown({ median, error, low, high }) {
  return `x${median.toFixed(3)} ± ${error.toFixed(3)} (half of the pairs: ${low.toFixed(2)}..${high.toFixed(2)})`;
}
