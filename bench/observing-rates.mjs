// What audit and metrics cost of a server's rates: short rounds, in turn on a server with them and one without, whose ratio
// is that of neighbours in time. A second plain server is measured in the same way: its ratio is what the machine alone does.
import { OPERATED } from "./operator-works.mjs";
import { scheduledNanoseconds } from "./process-costs.mjs";
import { oursTarget } from "./servers.mjs";
import { quantile } from "./statistics.mjs";
import { withDeadline } from "./waiting.mjs";

const SERVERS = { plain: [], operated: OPERATED, control: [] };

/** Ratios to the plain server, one for each round, of all pairs of servers. */
export async function observingRates(work, { pairs, rounds }) {
  const ratios = { operated: { rate: [], processor: [] }, control: { rate: [], processor: [] } };
  for (let pair = 0; pair < pairs; pair += 1) {
    const opened = [];
    try {
      for (const [name, flags] of Object.entries(SERVERS)) {
        const server = await oursTarget([], flags).open("ws");
        opened.push({ name, server });
      }
      for (const one of opened) {
        one.session = await one.server.openSession();
        await withDeadline(work.run(one.session, work.warmUp), "warming up");
      }
      for (let round = 0; round < rounds; round += 1) {
        const seen = {};
        // Each is first, second and third equally often, and none runs twice in a row with its caches still warm.
        for (const place of opened.keys()) {
          const { name, server, session } = opened[(place + round) % opened.length];
          const before = scheduledNanoseconds(server.pid);
          const seconds = await withDeadline(work.run(session, work.round), "a round");
          seen[name] = { rate: work.round / seconds, processor: scheduledNanoseconds(server.pid) - before };
        }
        for (const [name, { rate, processor }] of Object.entries(ratios)) {
          rate.push(seen[name].rate / seen.plain.rate);
          processor.push(seen[name].processor / seen.plain.processor);
        }
      }
    } finally {
      for (const { server } of opened) await server.stop();
    }
  }
  return ratios;
}

/** The median, and the range of the half of all rounds around it. */
export function spread(values) {
  return { median: quantile(values, 0.5), low: quantile(values, 0.25), high: quantile(values, 0.75) };
}
