import { openConnections } from "../connections.mjs";
import { onFreshServer } from "../run.mjs";
import { measureScaling, SCALING_METRICS } from "../scaling.mjs";

const UNIT = "ms/connection";

async function openAndClose(server, count) {
  const { seconds, close } = await openConnections(server, count);
  close();
  return seconds;
}

export default {
  name: "scale-connections",
  about: "1, 4 and 16 times 60 connections opened, with a session each; 1.0 is flat",
  transports: ["ws"],
  ownServers: true,
  maxRounds: 3,
  metrics: SCALING_METRICS(UNIT),
  run: ({ open, quick }) =>
    onFreshServer(open, async (server) => {
      await openAndClose(server, 200);
      return measureScaling(quick ? 20 : 60, (count) => openAndClose(server, count), {
        unit: UNIT,
        scale: 1e3,
      });
    }),
};
