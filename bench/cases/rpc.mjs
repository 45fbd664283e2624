import { inSession } from "../session.mjs";
import { quantile } from "../statistics.mjs";
import { inLanes, withDeadline } from "../waiting.mjs";

const IN_FLIGHT = 64;

async function inTurn(session, count) {
  const times = [];
  for (let i = 0; i < count; i++) {
    const begun = performance.now();
    await session.wire.request("environment/status");
    times.push((performance.now() - begun) * 1000);
  }
  return times;
}

async function measure(server, turns, flights) {
  return inSession(server, async (session) => {
    const times = await withDeadline(inTurn(session, turns), "requests in turn");
    const seconds = await withDeadline(
      inLanes(flights, IN_FLIGHT, () => session.wire.request("environment/status")),
      "requests in flight",
    );
    return {
      "p50 us": quantile(times, 0.5),
      "p99 us": quantile(times, 0.99),
      [`${IN_FLIGHT} in flight /s`]: flights / seconds,
    };
  });
}

export default {
  name: "rpc",
  about: `environment/status, in turn and ${IN_FLIGHT} in flight`,
  transports: ["ws", "stdio"],
  metrics: [
    { name: "p50 us", better: "lower" },
    { name: "p99 us", better: "lower" },
    { name: `${IN_FLIGHT} in flight /s`, better: "higher" },
  ],
  // Twice: V8 compiles for one kind of work, and again when the other comes.
  warmUp: async ({ server }) => {
    await measure(server, 10_000, 40_000);
    await measure(server, 10_000, 40_000);
  },
  run: ({ server, quick }) => (quick ? measure(server, 500, 5_000) : measure(server, 4_000, 40_000)),
};
