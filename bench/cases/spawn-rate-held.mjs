import { memoryOf } from "../process-costs.mjs";
import { onFreshServer } from "../run.mjs";
import { inSession } from "../session.mjs";
import { holdOutput, spawnRate, startsOf, warmUpSpawning } from "../spawning.mjs";

export const spawnRateHeldCase = (name, tty) => ({
  name,
  about: `\`true\`${tty ? " on a terminal" : ""}, 16 at a time, while the server keeps 500 MB of output of ended processes`,
  transports: ["ws"],
  // Held memory is released after 80 s, so each round starts over.
  ownServers: true,
  metrics: [
    { name: "processes/s", better: "higher" },
    { name: "RSS held MiB", better: "lower", context: true },
  ],
  run: ({ open, quick }) =>
    onFreshServer(open, (server) =>
      inSession(server, async (session) => {
        if (!quick) await warmUpSpawning(session, { tty });
        const before = memoryOf(server.pid).rss;
        const held = await holdOutput(session);
        const growth = memoryOf(server.pid).rss - before;
        const rate = await spawnRate(session, { tty, starts: startsOf(quick), untilMs: held.untilMs });
        await held.check();
        return { "processes/s": rate, "RSS held MiB": growth };
      }),
    ),
});

export default spawnRateHeldCase("spawn-rate-held", false);
