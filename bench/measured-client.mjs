// A client in its own process, connected to one server in one way. Does the requested work, and answers with its
// measurements.
import { connect } from "../dist/lib/client/index.js";
import { quantile } from "./statistics.mjs";

/** `request` is one that answers at once. */
const { target, token, request = "environment/status" } = JSON.parse(process.argv[2]);
const host = await connect(target, { token });

async function timed(work) {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

async function medianOf(count, work) {
  const times = [];
  for (let i = 0; i < count; i += 1) times.push(await timed(work));
  return quantile(times, 0.5);
}

const WORKS = {
  /** Milliseconds of a small request, one after another. */
  rpc: (count) => medianOf(count, () => host.request(request, {})),
  /** Milliseconds of `true`, from the request to closed, one after another. */
  start: (count) =>
    medianOf(count, async () => {
      const started = await host.start(["true"]);
      await started.closed;
    }),
  /** Megabytes of output each second. */
  output: async (bytes) => {
    let received = 0;
    const ms = await timed(async () => {
      const started = await host.start(["head", "-c", String(bytes), "/dev/zero"]);
      for await (const chunk of started.output()) received += chunk.bytes.length;
      await started.closed;
    });
    if (received !== bytes) throw new Error(`${received} of ${bytes} bytes arrived`);
    return bytes / 1_000 / ms;
  },
};

async function answer({ work, size }) {
  try {
    process.send({ value: await WORKS[work](size) });
  } catch (error) {
    process.send({ error: error.stack });
  }
}

process.on("message", (asked) => void answer(asked));
process.send({ ready: true });
