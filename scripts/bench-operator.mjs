// `npm run bench:operator`: what an audit log costs: requests and starts with it and without it, alternately on two
// running servers. Besides the rates, which others on the machine disturb, it measures the processor time of the server.
// Fails if both are worse by more than 5 %.
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import rpc from "../bench/cases/rpc.mjs";
import spawnRate from "../bench/cases/spawn-rate.mjs";
import { oursTarget } from "../bench/servers.mjs";
import { ratiosOf, summarize } from "../bench/statistics.mjs";

const MAX_COST = 0.05;
/** A server as an operator runs it. Its working directory is one of its own. */
const OPERATED = ["--audit", "audit.jsonl"];
const MEASURED = [
  { bench: rpc, metric: "64 in flight /s" },
  { bench: spawnRate, metric: "processes/s" },
];

/** Processor time that a program has used, in ticks of the system. */
function ticksOf(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const [user, system] = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 13);
  return Number(user) + Number(system);
}

const { values } = parseArgs({
  options: { rounds: { type: "string", default: "15" }, quick: { type: "boolean", default: false } },
});
const servers = {
  plain: await oursTarget().open("ws"),
  operated: await oursTarget([], OPERATED).open("ws"),
};

try {
  for (const { bench, metric } of MEASURED) {
    const rates = { plain: [], operated: [] };
    const ticks = { plain: 0, operated: 0 };
    for (const server of Object.values(servers)) await bench.warmUp({ server });
    for (let round = 0; round < Number(values.rounds); round += 1) {
      // Neither is always the first.
      const order = round % 2 === 0 ? ["plain", "operated"] : ["operated", "plain"];
      for (const name of order) {
        const server = servers[name];
        const before = ticksOf(server.pid);
        rates[name].push((await bench.run({ server, quick: values.quick }))[metric]);
        ticks[name] += ticksOf(server.pid) - before;
      }
    }
    const { median, min, max } = summarize(ratiosOf(rates.operated, rates.plain));
    const [before, after] = [rates.plain, rates.operated].map((list) => summarize(list).median.toFixed(0));
    const range = `${min.toFixed(2)}..${max.toFixed(2)}`;
    const cost = ticks.operated / ticks.plain;
    console.log(
      `${`${bench.name} ${metric}`.padEnd(28)} ${before} -> ${after}  x${median.toFixed(3)} [${range}], processor x${cost.toFixed(3)} of ${ticks.plain} ticks`,
    );
    if (median < 1 - MAX_COST && cost > 1 + MAX_COST) process.exitCode = 1;
  }
} finally {
  for (const server of Object.values(servers)) await server.stop();
}
