import { openConnections } from "../connections.mjs";
import { memoryOf } from "../process-costs.mjs";
import { onFreshServer } from "../run.mjs";
import { inSession } from "../session.mjs";
import { settled } from "../waiting.mjs";

const TOLERANCE_MIB = 0.25;

export default {
  name: "connections",
  about: "1000 connections with a session each, opened 32 at a time and kept",
  transports: ["ws"],
  fresh: true,
  metrics: [
    { name: "MiB per 1000", better: "lower" },
    { name: "seconds per 1000", better: "lower" },
  ],
  run: ({ open, quick }) =>
    onFreshServer(open, async (server) => {
      const count = quick ? 200 : 1000;
      const rss = () => settled(() => memoryOf(server.pid).rss, TOLERANCE_MIB);
      await inSession(server, async () => {});
      const before = await rss();
      const { seconds, close } = await openConnections(server, count);
      try {
        return {
          "MiB per 1000": (((await rss()) - before) / count) * 1000,
          "seconds per 1000": (seconds / count) * 1000,
        };
      } finally {
        close();
      }
    }),
};
