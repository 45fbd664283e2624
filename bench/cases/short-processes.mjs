import { setTimeout as delay } from "node:timers/promises";
import { memoryOf, peakRss, resetPeak } from "../process-costs.mjs";
import { onFreshServer } from "../run.mjs";
import { inSession } from "../session.mjs";
import { inLanes, settled } from "../waiting.mjs";

const AT_A_TIME = 32;
/** Both servers forget a process 80 s after its end. */
const RETENTION_MS = 80_000;
const RETENTION_MARGIN_MS = 5_000;
const TOLERANCE_MIB = 0.25;

const rssOf = (server) => settled(() => memoryOf(server.pid).rss, TOLERANCE_MIB);

export default {
  name: "short-processes",
  about:
    "RSS before, during and after 10 000 `echo`, 32 at a time, whose output both servers keep for 80 s after each end",
  transports: ["ws"],
  ownServers: true,
  maxRounds: 1,
  metrics: [
    { name: "RSS before MiB", better: "lower", context: true },
    { name: "peak RSS MiB", better: "lower" },
    { name: "RSS after MiB", better: "lower" },
    { name: "RSS forgotten MiB", better: "lower" },
    { name: "seconds", better: "lower", context: true },
  ],
  run: ({ open, quick }) =>
    onFreshServer(open, (server) =>
      inSession(server, async (session) => {
        await inLanes(AT_A_TIME, AT_A_TIME, () => session.run(["echo", "first"]));
        const before = await rssOf(server);
        resetPeak(server.pid);
        const seconds = await inLanes(quick ? 1_000 : 10_000, AT_A_TIME, (i) =>
          session.run(["echo", `${i}`]),
        );
        const after = await rssOf(server);
        // Helpers of the server are in the one, not in the other.
        const peak = Math.max(peakRss(server.pid), after);
        if (!quick) await delay(RETENTION_MS + RETENTION_MARGIN_MS);
        return {
          "RSS before MiB": before,
          "peak RSS MiB": peak,
          "RSS after MiB": after,
          "RSS forgotten MiB": quick ? null : await rssOf(server),
          seconds,
        };
      }),
    ),
};
