import { measureOutput } from "../output-stream.mjs";

const LINES = 200_000;
const LINE_BYTES = 20;
/** Each line is a separate write. */
const WRITE_LINES = `BEGIN { for (i = 0; i < ${LINES}; i++) { printf "%019d\\n", i; fflush() } }`;

const writeLines = (server) =>
  measureOutput(server, LINES * LINE_BYTES, (session) => session.run(["awk", WRITE_LINES]));

async function measure(server, count) {
  const runs = [];
  for (let i = 0; i < count; i++) runs.push(await writeLines(server));
  const total = LINES * runs.length;
  const sum = (member) => runs.reduce((all, one) => all + one[member], 0);
  return {
    "lines/s": total / sum("seconds"),
    "CPU s per million": server.pid ? (sum("cpu") / total) * 1e6 : null,
  };
}

export default {
  name: "lines",
  about: "200 000 lines of 20 bytes, each written by itself",
  transports: ["ws", "stdio"],
  metrics: [
    { name: "lines/s", better: "higher" },
    { name: "CPU s per million", better: "lower" },
  ],
  warmUp: async ({ server }) => {
    for (let i = 0; i < 3; i++) await writeLines(server);
  },
  firstCalls: ({ server }) => measure(server, 1),
  run: ({ server, quick }) => measure(server, quick ? 1 : 5),
};
