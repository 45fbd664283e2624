import { setTimeout as delay } from "node:timers/promises";
import { MIB } from "../output-stream.mjs";
import { bytesWritten, descendants, memoryOf } from "../process-costs.mjs";
import { onFreshServer } from "../run.mjs";
import { inSession } from "../session.mjs";
import { quantile } from "../statistics.mjs";
import { withDeadline } from "../waiting.mjs";

const ENDLESS = ["cat", "/dev/zero"];
const PAUSE_MS = 10;

/** Measures round trips on another connection until the time is up. */
async function othersLatency(server, forMs) {
  return inSession(server, async (session) => {
    const times = [];
    const end = performance.now() + forMs;
    while (performance.now() < end) {
      const begun = performance.now();
      await withDeadline(session.wire.request("environment/status"), "a request of another connection");
      times.push((performance.now() - begun) * 1000);
      await delay(PAUSE_MS);
    }
    return times;
  });
}

export default {
  name: "stopped-reader",
  about:
    "a client that stops reading endless output for 5 s: the server's growth, what the process could write, how others are served",
  transports: ["ws"],
  ownServers: true,
  maxRounds: 3,
  metrics: [
    { name: "RSS growth MiB", better: "lower" },
    { name: "process wrote MiB", better: "lower" },
    { name: "others' p50 us", better: "lower" },
    { name: "others' p99 us", better: "lower" },
  ],
  run: ({ open, quick }) =>
    onFreshServer(open, (server) =>
      inSession(server, async (session) => {
        await session.run(["true"]);
        const before = memoryOf(server.pid).rss;
        session.wire.pause();
        // The answer to the start is not read either.
        const { started, processId, over } = session.start(ENDLESS);
        const times = await othersLatency(server, quick ? 1_500 : 5_000);
        const growth = memoryOf(server.pid, ENDLESS).rss - before;
        const child = descendants(server.pid).find(({ argv }) => argv.join(" ") === ENDLESS.join(" "));
        if (!child) throw new Error("the process does not run");
        const wrote = bytesWritten(child.pid);
        const received = session.countOutput();
        session.wire.resume();
        await withDeadline(started, "the answer after reading again");
        await session.terminate({ processId, over });
        if (received() === 0) throw new Error("no output after reading again");
        return {
          "RSS growth MiB": growth,
          "process wrote MiB": wrote / MIB,
          "others' p50 us": quantile(times, 0.5),
          "others' p99 us": quantile(times, 0.99),
        };
      }),
    ),
};
