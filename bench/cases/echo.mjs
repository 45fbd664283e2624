import { byteCount } from "../bulk.mjs";
import { inSession } from "../session.mjs";
import { quantile } from "../statistics.mjs";
import { withDeadline } from "../waiting.mjs";

const KEY = Buffer.from("a").toString("base64");

/** Sends bytes to `cat` one by one. On a terminal, the terminal echoes each one. */
async function type(server, keys, tty) {
  return inSession(server, async (session) => {
    let echoed = () => {};
    session.wire.onBulk = (_method, message) => echoed(byteCount(message));
    const cat = session.start(["cat"], { tty, pipeStdin: !tty });
    const processId = await withDeadline(cat.started, "start of cat");
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
    await session.terminate(cat);
    return times;
  });
}

async function measure(server, keys) {
  const pipe = await type(server, keys, false);
  const pty = await type(server, keys, true);
  return {
    "pipe p50 us": quantile(pipe, 0.5),
    "pipe p99 us": quantile(pipe, 0.99),
    "pty p50 us": quantile(pty, 0.5),
    "pty p99 us": quantile(pty, 0.99),
  };
}

export default {
  name: "echo",
  about: "a byte written to `cat`, on a pipe and on a terminal, until it is back",
  transports: ["ws", "stdio"],
  metrics: ["pipe p50 us", "pipe p99 us", "pty p50 us", "pty p99 us"].map((name) => ({
    name,
    better: "lower",
  })),
  // Over a WebSocket the peer takes 40 ms per key.
  warmUp: ({ server, quick, transport }) => measure(server, quick ? 10 : transport === "ws" ? 40 : 1500),
  firstCalls: ({ server, transport }) => measure(server, transport === "ws" ? 60 : 300),
  run: ({ server, quick, transport }) => measure(server, quick ? 10 : transport === "ws" ? 60 : 500),
};
