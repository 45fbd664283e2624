import { inSession } from "../session.mjs";
import { spawnMany } from "../spawning.mjs";
import { inLanes, withDeadline } from "../waiting.mjs";

const AT_A_TIME = 16;
const WAITING = ["sleep", "86399"];

export default {
  name: "many-processes",
  about: "500 processes that live at the same time: until all run, and until all are terminated and closed",
  transports: ["ws"],
  metrics: [
    { name: "start s", better: "lower" },
    { name: "end s", better: "lower" },
  ],
  warmUp: ({ server }) => inSession(server, (session) => spawnMany(session, 300)),
  run: ({ server, quick }) =>
    inSession(server, async (session) => {
      const count = quick ? 100 : 500;
      const running = [];
      const startSeconds = await inLanes(count, AT_A_TIME, async () => {
        const process = session.start(WAITING);
        await withDeadline(process.started, "start of sleep");
        running.push(process);
      });
      const endSeconds = await inLanes(count, AT_A_TIME, (i) => session.terminate(running[i]));
      return { "start s": startSeconds, "end s": endSeconds };
    }),
};
