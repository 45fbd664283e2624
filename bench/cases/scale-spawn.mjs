import { measureScaling, SCALING_METRICS } from "../scaling.mjs";
import { inSession } from "../session.mjs";
import { spawnMany, warmUpSpawning } from "../spawning.mjs";

const UNIT = "ms/process";

export default {
  name: "scale-spawn",
  about: "1, 4 and 16 times 60 starts in one session, 16 at a time; 1.0 is flat",
  transports: ["ws"],
  maxRounds: 3,
  metrics: SCALING_METRICS(UNIT),
  warmUp: ({ server, quick }) =>
    inSession(server, (session) => (quick ? spawnMany(session, 100) : warmUpSpawning(session, {}))),
  run: ({ server, quick }) =>
    measureScaling(
      quick ? 15 : 60,
      (count) => inSession(server, (session) => spawnMany(session, count, { atATime: 8 })),
      { unit: UNIT, scale: 1e3 },
    ),
};
