import { MIB, streamZeros } from "../output-stream.mjs";
import { measureScaling, SCALING_METRICS } from "../scaling.mjs";

const UNIT = "ms/MiB";

export default {
  name: "scale-output",
  about: "1, 4 and 16 times 32 MiB of output of one process; 1.0 is flat",
  transports: ["ws"],
  maxRounds: 3,
  metrics: SCALING_METRICS(UNIT),
  warmUp: ({ server }) => streamZeros(server, 256 * MIB),
  run: ({ server, quick }) =>
    measureScaling(
      quick ? 8 : 32,
      async (mebibytes) => (await streamZeros(server, mebibytes * MIB)).seconds,
      {
        unit: UNIT,
        scale: 1e3,
      },
    ),
};
