import { MIB, OUTPUT_METRICS, streamZeros, verifyContent } from "../output-stream.mjs";

export default {
  name: "output-pty",
  about: "one process writing 96 MiB to its terminal",
  transports: ["ws", "stdio"],
  metrics: OUTPUT_METRICS,
  warmUp: async ({ server }) => {
    await verifyContent(server, { tty: true });
    await streamZeros(server, 192 * MIB, { tty: true });
  },
  firstCalls: ({ server }) => streamZeros(server, 32 * MIB, { tty: true }),
  run: ({ server, quick }) => streamZeros(server, (quick ? 16 : 96) * MIB, { tty: true }),
};
