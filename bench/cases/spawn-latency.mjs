import { inSession } from "../session.mjs";
import { quantile } from "../statistics.mjs";

async function spawnInTurn(server, count, tty) {
  return inSession(server, async (session) => {
    const times = [];
    for (let i = 0; i < count; i++) {
      const begun = performance.now();
      await session.run(["true"], { tty });
      times.push(performance.now() - begun);
    }
    return quantile(times, 0.5);
  });
}

export default {
  name: "spawn-latency",
  about: "`true` from the request to closed, one after another",
  transports: ["ws", "stdio"],
  metrics: [
    { name: "pipe p50 ms", better: "lower" },
    { name: "pty p50 ms", better: "lower" },
  ],
  warmUp: async ({ server, quick }) => {
    await spawnInTurn(server, quick ? 10 : 40, false);
    await spawnInTurn(server, quick ? 10 : 40, true);
  },
  run: async ({ server, quick }) => ({
    "pipe p50 ms": await spawnInTurn(server, quick ? 10 : 40, false),
    "pty p50 ms": await spawnInTurn(server, quick ? 10 : 40, true),
  }),
};
