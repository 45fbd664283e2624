import { inSession } from "../session.mjs";
import { quantile } from "../statistics.mjs";

async function spawnInTurn(url, count, tty) {
  return inSession(url, async (session) => {
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
  metrics: [
    { name: "pipe p50 ms", better: "lower" },
    { name: "pty p50 ms", better: "lower" },
  ],
  warmUp: async (url) => {
    await spawnInTurn(url, 5, false);
    await spawnInTurn(url, 5, true);
  },
  run: async (url, { quick }) => ({
    "pipe p50 ms": await spawnInTurn(url, quick ? 10 : 40, false),
    "pty p50 ms": await spawnInTurn(url, quick ? 10 : 40, true),
  }),
};
