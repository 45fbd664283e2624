// What the cost of audit and metrics is measured with.
import { inLanes } from "./waiting.mjs";

/** A server as an operator runs it. Its working directory is one of its own. */
export const OPERATED = ["--audit", "audit.jsonl", "--metrics"];

const REQUESTS_IN_FLIGHT = 64;
const STARTS_AT_A_TIME = 16;

/** `run` resolves with the seconds that it took; `round` and `profiled` are how often it is done to measure. */
export const WORKS = {
  requests: {
    run: (session, count) =>
      inLanes(count, REQUESTS_IN_FLIGHT, () => session.wire.request("environment/status")),
    warmUp: 100_000,
    round: 20_000,
    profiled: 300_000,
  },
  starts: {
    run: (session, count) => inLanes(count, STARTS_AT_A_TIME, () => session.run(["true"])),
    warmUp: 1_500,
    round: 400,
    profiled: 3_000,
  },
};
