import { memoryOf } from "../process-costs.mjs";
import { onFreshServer } from "../run.mjs";
import { inSession } from "../session.mjs";
import { inLanes, settled, withDeadline } from "../waiting.mjs";

const AT_A_TIME = 16;
const TOLERANCE_MIB = 0.25;
const WAITING = ["sleep", "86399"];

async function settledMemory(server) {
  let last;
  await settled(() => (last = memoryOf(server.pid, WAITING)).rss, TOLERANCE_MIB);
  return last;
}

/** Growth of RSS per 100 idle processes, on a server that has started some before. */
async function growthPer100(open, count, tty) {
  return onFreshServer(open, (server) =>
    inSession(server, async (session) => {
      const start = () => withDeadline(session.start(WAITING, { tty }).started, "start of sleep");
      await inLanes(AT_A_TIME, AT_A_TIME, start);
      const before = await settledMemory(server);
      await inLanes(count, AT_A_TIME, start);
      const after = await settledMemory(server);
      return ((after.rss - before.rss) / count) * 100;
    }),
  );
}

export default {
  name: "memory",
  about:
    "of an idle server with one session, and growth per 100 idle processes; the processes themselves do not count",
  transports: ["ws"],
  ownServers: true,
  metrics: [
    { name: "idle PSS MiB", better: "lower" },
    { name: "idle RSS MiB", better: "lower", context: true },
    { name: "MiB per 100 pipe", better: "lower" },
    { name: "MiB per 100 pty", better: "lower" },
  ],
  run: async ({ open, quick }) => {
    const idle = await onFreshServer(open, (server) =>
      inSession(server, async (session) => {
        // Helpers that a server starts with its first process count as idle memory too.
        await session.run(["true"]);
        return settledMemory(server);
      }),
    );
    const count = quick ? 200 : 400;
    return {
      "idle PSS MiB": idle.pss,
      "idle RSS MiB": idle.rss,
      "MiB per 100 pipe": await growthPer100(open, count, false),
      "MiB per 100 pty": await growthPer100(open, count, true),
    };
  },
};
