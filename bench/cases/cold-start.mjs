import { onFreshServer } from "../run.mjs";
import { startProgram } from "../servers.mjs";
import { inSession } from "../session.mjs";
import { quantile } from "../statistics.mjs";

/** From the start of the process to the answer to `initialize`. */
const startServer = (open) =>
  onFreshServer(open, (server) => inSession(server, async () => performance.now() - server.spawnedAt));

async function startBareNode() {
  const program = await startProgram(process.execPath, ["-e", "0"]);
  await program.exited;
  const elapsedMs = performance.now() - program.spawnedAt;
  await program.stop();
  return elapsedMs;
}

export default {
  name: "cold-start",
  about: "from the start of the process to the answer to initialize; `node -e 0` beside it",
  transports: ["ws", "stdio"],
  fresh: true,
  metrics: [
    { name: "ms", better: "lower" },
    { name: "bare node ms", better: "lower", context: true },
    { name: "in bare nodes", better: "lower", context: true },
  ],
  run: async ({ open, quick }) => {
    const server = [];
    const bare = [];
    for (let i = 0; i < (quick ? 3 : 9); i++) {
      bare.push(await startBareNode());
      server.push(await startServer(open));
    }
    const [ms, bareMs] = [quantile(server, 0.5), quantile(bare, 0.5)];
    return { ms, "bare node ms": bareMs, "in bare nodes": ms / bareMs };
  },
};
