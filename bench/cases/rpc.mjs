import { inSession, withDeadline } from "../session.mjs";
import { quantile } from "../statistics.mjs";

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

async function pipelined(session, count) {
  let left = count;
  const lane = async () => {
    while (left-- > 0) await session.wire.request("environment/status");
  };
  const begun = performance.now();
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
  return (count / (performance.now() - begun)) * 1000;
}

async function measure(url, turns, flights) {
  return inSession(url, async (session) => {
    const times = await withDeadline(inTurn(session, turns), "requests in turn");
    const rate = await withDeadline(pipelined(session, flights), "requests in flight");
    return {
      "p50 us": quantile(times, 0.5),
      "p99 us": quantile(times, 0.99),
      [`${IN_FLIGHT} in flight /s`]: rate,
    };
  });
}

export default {
  name: "rpc",
  about: `environment/status, in turn and ${IN_FLIGHT} in flight`,
  metrics: [
    { name: "p50 us", better: "lower" },
    { name: "p99 us", better: "lower" },
    { name: `${IN_FLIGHT} in flight /s`, better: "higher" },
  ],
  warmUp: (url) => measure(url, 500, 5_000),
  run: (url, { quick }) => (quick ? measure(url, 500, 5_000) : measure(url, 4_000, 40_000)),
};
