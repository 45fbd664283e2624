import { childrenCpuSeconds, cpuSeconds } from "../process-costs.mjs";
import { onFreshServer } from "../run.mjs";
import { startProgram } from "../servers.mjs";
import { inSession } from "../session.mjs";
import { quantile } from "../statistics.mjs";

/** From the start of the process to the answer to `initialize`. */
const startServer = (open) =>
  onFreshServer(open, (server) =>
    inSession(server, async () => ({
      ms: performance.now() - server.spawnedAt,
      cpu: cpuSeconds(server.pid),
    })),
  );

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
  ownServers: true,
  metrics: [
    { name: "ms", better: "lower" },
    { name: "bare node ms", better: "lower", context: true },
    { name: "in bare nodes", better: "lower", context: true },
    { name: "CPU in bare nodes", better: "lower", context: true },
  ],
  run: async ({ open, quick }) => {
    const server = [];
    const bare = [];
    let cpu = 0;
    let bareCpu = 0;
    for (let i = 0; i < (quick ? 3 : 9); i++) {
      const before = childrenCpuSeconds();
      bare.push(await startBareNode());
      bareCpu += childrenCpuSeconds() - before;
      const started = await startServer(open);
      server.push(started.ms);
      cpu += started.cpu;
    }
    const [ms, bareMs] = [quantile(server, 0.5), quantile(bare, 0.5)];
    return { ms, "bare node ms": bareMs, "in bare nodes": ms / bareMs, "CPU in bare nodes": cpu / bareCpu };
  },
};
