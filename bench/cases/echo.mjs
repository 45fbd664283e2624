import { inSession, withDeadline } from "../session.mjs";
import { quantile } from "../statistics.mjs";
import { outputByteCount } from "../wire.mjs";

const KEY = Buffer.from("a").toString("base64");

/** Keys typed on a terminal whose program does nothing: the terminal itself echoes each one. */
async function type(url, keys) {
  return inSession(url, async (session) => {
    let echoed = () => {};
    session.wire.onOutput = (message) => echoed(outputByteCount(message));
    const { started } = session.start(["cat"], { tty: true });
    const processId = await withDeadline(started, "start of cat");
    const times = [];
    for (let i = 0; i < keys; i++) {
      const echo = new Promise((resolve, reject) => {
        echoed = (bytes) => (bytes === 1 ? resolve() : reject(new Error(`${bytes} bytes for one key`)));
      });
      const begun = performance.now();
      session.wire
        .request("process/write", { processId, chunk: KEY, writeId: String(i) })
        .catch((error) => echoed(error.message));
      await withDeadline(echo, "echo");
      times.push((performance.now() - begun) * 1000);
    }
    await session.wire.request("process/terminate", { processId });
    return { "p50 us": quantile(times, 0.5), "p99 us": quantile(times, 0.99) };
  });
}

export default {
  name: "echo",
  about: "a key typed on a terminal until its echo is here",
  metrics: [
    { name: "p50 us", better: "lower" },
    { name: "p99 us", better: "lower" },
  ],
  warmUp: (url) => type(url, 10),
  run: (url, { quick }) => type(url, quick ? 10 : 60),
};
