// Lists and watches a fleet in its own process, whose memory is measured. Answers each message of its parent.
import { openFleet } from "../../dist/lib/client/index.js";

const [servers] = process.argv.slice(2);
let fleet;
let changes = 0;
const joined = new Map();
let told = () => {};

const ANSWERS = {
  /** Milliseconds until the list is complete, and how many it has. */
  async open() {
    const begun = performance.now();
    const opened = await openFleet({ servers });
    const ms = performance.now() - begun;
    const begunList = performance.now();
    const listed = opened.list().length;
    const listMs = performance.now() - begunList;
    await opened.close();
    return { ms, listed, listMs };
  },
  async watch() {
    fleet = await openFleet({ servers });
    fleet.watch(({ kind, executor }) => {
      if (kind === "joined") {
        joined.set(executor.id, process.hrtime.bigint());
        told();
      }
      if (kind === "changed") changes += 1;
    });
    return {};
  },
  /** Resolves when the joining of an executor was told, with when that was. */
  async joined({ id }) {
    while (!joined.has(id)) await new Promise((resolve) => void (told = resolve));
    const at = joined.get(id);
    joined.delete(id);
    return { at: String(at) };
  },
  async state() {
    globalThis.gc();
    const { heapUsed, external, rss } = process.memoryUsage();
    const { user, system } = process.cpuUsage();
    return {
      bytes: heapUsed + external,
      rss,
      cpuMs: (user + system) / 1_000,
      changes,
      listed: fleet.list().length,
    };
  },
};

async function answer({ ask, ...params }) {
  try {
    process.send(await ANSWERS[ask](params));
  } catch (error) {
    process.send({ error: error.stack });
  }
}

process.on("message", (asked) => void answer(asked));
process.send({ ready: true });
