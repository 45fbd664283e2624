import { measureScaling, SCALING_METRICS } from "../scaling.mjs";
import { inSession } from "../session.mjs";
import { inLanes, withDeadline } from "../waiting.mjs";

const UNIT = "us/call";
const IN_FLIGHT = 64;

const call = (server, count) =>
  inSession(server, ({ wire }) =>
    withDeadline(
      inLanes(count, IN_FLIGHT, () => wire.request("environment/status")),
      "requests",
    ),
  );

export default {
  name: "scale-rpc",
  about: `1, 4 and 16 times 4000 requests, ${IN_FLIGHT} in flight; 1.0 is flat`,
  transports: ["ws"],
  maxRounds: 3,
  metrics: SCALING_METRICS(UNIT),
  warmUp: ({ server }) => call(server, 20_000),
  run: ({ server, quick }) =>
    measureScaling(quick ? 1_000 : 4_000, (count) => call(server, count), { unit: UNIT, scale: 1e6 }),
};
