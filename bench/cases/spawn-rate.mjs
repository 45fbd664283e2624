import { inSession } from "../session.mjs";
import { spawnRate, warmUpSpawning } from "../spawning.mjs";

export const spawnRateCase = (name, tty) => ({
  name,
  about: `\`true\`${tty ? " on a terminal" : ""} started and waited for until closed, 16 at a time`,
  transports: ["ws"],
  metrics: [{ name: "processes/s", better: "higher" }],
  warmUp: ({ server }) => inSession(server, (session) => warmUpSpawning(session, { tty })),
  run: ({ server, quick }) =>
    inSession(server, async (session) => ({ "processes/s": await spawnRate(session, { tty, quick }) })),
});

export default spawnRateCase("spawn-rate", false);
