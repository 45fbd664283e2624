import { inSession } from "../session.mjs";
import { spawnMany } from "../spawning.mjs";
import { quantile } from "../statistics.mjs";

const WARM_UP = 600;

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

const measure = async (server, count) => ({
  "pipe p50 ms": await spawnInTurn(server, count, false),
  "pty p50 ms": await spawnInTurn(server, count, true),
});

export default {
  name: "spawn-latency",
  about: "`true` from the request to closed, one after another",
  transports: ["ws", "stdio"],
  metrics: [
    { name: "pipe p50 ms", better: "lower" },
    { name: "pty p50 ms", better: "lower" },
  ],
  // Several at a time, because the peer takes 40 ms for each over a WebSocket.
  warmUp: ({ server, quick }) =>
    inSession(server, async (session) => {
      await spawnMany(session, quick ? 10 : WARM_UP, { tty: false });
      await spawnMany(session, quick ? 10 : WARM_UP, { tty: true });
    }),
  firstCalls: ({ server }) => measure(server, 20),
  run: ({ server, quick }) => measure(server, quick ? 10 : 40),
};
