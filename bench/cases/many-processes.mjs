import { inSession } from "../session.mjs";
import { spawnMany } from "../spawning.mjs";
import { quantile } from "../statistics.mjs";
import { inLanes, inTurn, withDeadline } from "../waiting.mjs";

const AT_A_TIME = 16;
const REQUESTS = 300;
const WAITING = ["sleep", "86399"];

const measure = (server, count) =>
  inSession(server, async (session) => {
    const running = [];
    const startSeconds = await inLanes(count, AT_A_TIME, async () => {
      const process = session.start(WAITING);
      await withDeadline(process.started, "start of sleep");
      running.push(process);
    });
    const times = await withDeadline(
      inTurn(REQUESTS, () => session.wire.request("environment/status")),
      "requests beside the processes",
    );
    const endSeconds = await inLanes(count, AT_A_TIME, (i) => session.terminate(running[i]));
    return { "start s": startSeconds, "rpc p50 us": quantile(times, 0.5), "end s": endSeconds };
  });

export default {
  name: "many-processes",
  about:
    "500 processes that live at the same time: until all run, requests beside them, and until all are terminated and closed",
  transports: ["ws"],
  metrics: [
    { name: "start s", better: "lower" },
    { name: "rpc p50 us", better: "lower" },
    { name: "end s", better: "lower" },
  ],
  warmUp: ({ server }) => inSession(server, (session) => spawnMany(session, 300)),
  firstCalls: ({ server }) => measure(server, 500),
  run: ({ server, quick }) => measure(server, quick ? 100 : 500),
};
