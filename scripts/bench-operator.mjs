// `npm run bench:operator`: which share of a server's time audit and metrics together take, in requests and in starts.
// `--quick`: a fifth of the work, as in `npm test`. Fails if a share is more than 5 %: a server that is busy has so much
// less time for its clients, so its rates are lower by no more than that.
import { parseArgs } from "node:util";
import { observingShare, WORKS } from "../bench/observing-share.mjs";

const MAX_SHARE = 0.05;

const { values } = parseArgs({ options: { quick: { type: "boolean", default: false } } });
for (const [name, work] of Object.entries(WORKS)) {
  const { observing, collecting, seconds, plain } = await observingShare(work, values.quick ? 0.2 : 1);
  console.log(
    `${name}: audit and metrics ${percent(observing)}, garbage ${percent(collecting)}, of ${seconds.toFixed(1)} s`,
  );
  if (observing + collecting > MAX_SHARE || plain > 0) process.exitCode = 1;
}

function percent(share) {
  return `${(100 * share).toFixed(2)} %`;
}
