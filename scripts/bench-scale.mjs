// `npm run bench:scale`: what one more connection, process or kept name costs a server, at 1, 4 and 16 times the number,
// up to 10 000 idle connections, 2 000 processes and 5 000 names. Each size has a server of its own. The slope is the
// exponent of the whole cost over the number: 1.0 is flat, 2.0 quadratic; fixed costs make it smaller. Fails if a slope
// is more than 1.2. `--quick`: a tenth of it, too little to judge.
import { parseArgs } from "node:util";
import { openConnections } from "../bench/connections.mjs";
import { memoryOf, scheduledNanoseconds } from "../bench/process-costs.mjs";
import { oursTarget } from "../bench/servers.mjs";
import { inSession } from "../bench/session.mjs";
import { quantile, slope } from "../bench/statistics.mjs";
import { inLanes, inTurn, settled, withDeadline } from "../bench/waiting.mjs";

const FACTORS = [1, 4, 16];
const MAX_SLOPE = 1.2;
const AT_A_TIME = 16;
const REQUESTS = 500;
const WARM_UP = 300;
const TOLERANCE_MIB = 0.25;
const TOLERANCE_CPU_S = 0.002;
const WAITING = ["sleep", "86399"];
const DEADLINE_MS = 300_000;

const { values: options } = parseArgs({ options: { quick: { type: "boolean", default: false } } });

let names = 0;

/** `make(server, session, count)` resolves with what removes them again, if anything does. */
const WORKS = {
  "idle connection": {
    most: 10_000,
    make: async (server, _, count) => {
      const { close } = await openConnections(server, count);
      return async () => close();
    },
  },
  "running process": {
    most: 2_000,
    make: async (_, session, count) => {
      const running = [];
      await inLanes(count, AT_A_TIME, async () => {
        const process = session.start(WAITING);
        await withDeadline(process.started, "start of sleep");
        running.push(process);
      });
      return () => inLanes(count, AT_A_TIME, (at) => session.terminate(running[at]));
    },
  },
  "kept name": {
    most: 5_000,
    args: ["--max-kept-processes", "10000"],
    make: async (_, session, count) => {
      await inLanes(count, AT_A_TIME, async () => {
        names += 1;
        const { started, over } = session.start(["true"], { keep: { name: `name-${names}` } });
        await withDeadline(Promise.all([started, over]), "start and end of true");
      });
    },
    look: (session) => session.wire.request("process/list", { scope: "kept" }),
  },
};

/** What `count` of them cost one server. */
async function measure({ make, look, args = [] }, count) {
  const server = await oursTarget([], args).open("ws");
  try {
    return await inSession(server, async (session) => {
      await make(server, session, WARM_UP).then((remove) => remove?.());
      const cpu = () => settled(() => scheduledNanoseconds(server.pid) / 1e9, TOLERANCE_CPU_S);
      const rss = () => settled(() => memoryOf(server.pid, WAITING).rss, TOLERANCE_MIB);
      const before = await rss();
      const begun = await cpu();
      const remove = await withDeadline(make(server, session, count), `${count} of them`, DEADLINE_MS);
      const made = await cpu();
      const memory = (await rss()) - before;
      const times = await inTurn(REQUESTS, () => session.wire.request("environment/status"));
      const looked = look && (await inTurn(3, () => look(session)));
      const removing = await cpu();
      if (remove !== undefined) await withDeadline(remove(), `the end of ${count}`, DEADLINE_MS);
      return {
        "made, us of CPU": (made - begun) * 1e6,
        "memory, KiB": memory * 1024,
        ...(looked && { "listed, us": quantile(looked, 0.5) }),
        ...(remove && { "removed, us of CPU": ((await cpu()) - removing) * 1e6 }),
        p50: quantile(times, 0.5),
      };
    });
  } finally {
    await server.stop();
  }
}

const shown = (value) => (value < 10 ? value.toFixed(2) : value.toFixed(0)).padStart(9);

for (const [name, work] of Object.entries(WORKS)) {
  const sizes = FACTORS.map((factor) => Math.round((work.most / 16 / (options.quick ? 10 : 1)) * factor));
  const costs = [];
  for (const size of sizes) costs.push(await measure(work, size));
  console.log(`\nEach ${name}, of ${sizes.join(", ")}`);
  for (const metric of Object.keys(costs[0]).filter((key) => key !== "p50")) {
    const all = costs.map((cost) => Math.max(cost[metric], 1));
    const exponent = slope(sizes, all);
    const isFlat = exponent <= MAX_SLOPE;
    if (!isFlat && !options.quick) process.exitCode = 1;
    const each = all.map((cost, at) => shown(cost / sizes[at])).join("");
    console.log(`  ${metric.padEnd(20)}${each}  slope ${exponent.toFixed(2)}${isFlat ? "" : " (not flat)"}`);
  }
  console.log(`  ${"a request, p50 us".padEnd(20)}${costs.map(({ p50 }) => shown(p50)).join("")}`);
}
