import { inSession } from "../session.mjs";
import { quantile } from "../statistics.mjs";
import { inLanes, inTurn, withDeadline } from "../waiting.mjs";

const IN_FLIGHT = 64;

async function measure(server, turns, flights) {
  return inSession(server, async (session) => {
    const times = await withDeadline(
      inTurn(turns, () => session.wire.request("environment/status")),
      "requests in turn",
    );
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
  firstCalls: ({ server }) => measure(server, 1_000, 2_000),
  run: ({ server, quick }) => (quick ? measure(server, 500, 5_000) : measure(server, 4_000, 40_000)),
};
