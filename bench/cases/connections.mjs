import { openConnections } from "../connections.mjs";
import { memoryOf } from "../process-costs.mjs";
import { onFreshServer } from "../run.mjs";
import { inSession } from "../session.mjs";
import { settled } from "../waiting.mjs";

const COUNT = 1000;
const TOLERANCE_MIB = 0.25;

export default {
  name: "connections",
  about: "1000 connections with a session each, opened 32 at a time and kept",
  transports: ["ws"],
  ownServers: true,
  metrics: [
    { name: "MiB per 1000", better: "lower" },
    { name: "seconds per 1000", better: "lower" },
  ],
  run: ({ open }) =>
    onFreshServer(open, async (server) => {
      const rss = () => settled(() => memoryOf(server.pid).rss, TOLERANCE_MIB);
      await inSession(server, async () => {});
      const before = await rss();
      const { seconds, close } = await openConnections(server, COUNT);
      try {
        return {
          "MiB per 1000": (await rss()) - before,
          "seconds per 1000": seconds,
        };
      } finally {
        close();
      }
    }),
};
