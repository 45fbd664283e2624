import { MIB, OUTPUT_METRICS, streamZeros, verifyContent } from "../output-stream.mjs";

export default {
  name: "output",
  about: "one process writing 256 MiB, received as notifications",
  transports: ["ws", "stdio"],
  metrics: OUTPUT_METRICS,
  warmUp: async ({ server }) => {
    await verifyContent(server);
    await streamZeros(server, 256 * MIB);
  },
  firstCalls: ({ server }) => streamZeros(server, 64 * MIB),
  run: ({ server, quick }) => streamZeros(server, (quick ? 64 : 256) * MIB),
};
