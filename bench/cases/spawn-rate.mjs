import { inSession } from "../session.mjs";
import { spawnRate, startsOf, warmUpSpawning } from "../spawning.mjs";

const FIRST_STARTS = 300;

export const spawnRateCase = (name, tty) => ({
  name,
  about: `\`true\`${tty ? " on a terminal" : ""} started and waited for until closed, 16 at a time`,
  transports: ["ws"],
  metrics: [{ name: "processes/s", better: "higher" }],
  warmUp: ({ server }) => inSession(server, (session) => warmUpSpawning(session, { tty })),
  firstCalls: ({ server }) =>
    inSession(server, async (session) => ({
      "processes/s": await spawnRate(session, { tty, starts: FIRST_STARTS }),
    })),
  run: ({ server, quick }) =>
    inSession(server, async (session) => ({
      "processes/s": await spawnRate(session, { tty, starts: startsOf(quick) }),
    })),
});

export default spawnRateCase("spawn-rate", false);
