import { MIB, OUTPUT_METRICS, streamZeros, verifyContent } from "../output-stream.mjs";

const PROCESSES = 8;

export default {
  name: "output-8",
  about: "8 processes writing 32 MiB each, at the same time and to one connection",
  transports: ["ws", "stdio"],
  metrics: OUTPUT_METRICS,
  warmUp: async ({ server }) => {
    await verifyContent(server, { processes: PROCESSES });
    await streamZeros(server, 256 * MIB, { processes: PROCESSES });
  },
  firstCalls: ({ server }) => streamZeros(server, 64 * MIB, { processes: PROCESSES }),
  run: ({ server, quick }) => streamZeros(server, (quick ? 64 : 256) * MIB, { processes: PROCESSES }),
};
