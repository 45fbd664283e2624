// `npm run bench:command`: how long a short command takes on a running server, beside Node's own start. Fails if it is
// more than 2.5 times as long.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const MAX_RATIO = 2.5;
const CLI = fileURLToPath(new URL("../dist/cli.js", import.meta.url));
const { values } = parseArgs({ options: { rounds: { type: "string", default: "15" } } });

const server = spawn(process.execPath, [CLI, "--listen", "ws://127.0.0.1:0"], {
  stdio: ["ignore", "pipe", "inherit"],
});
const [url] = await once(createInterface({ input: server.stdout }), "line");
const commands = {
  "node -e 0": ["-e", "0"],
  "exec-server run -- true": [CLI, "run", "--url", url, "--", "true"],
};

function timeOf(args) {
  const begun = performance.now();
  const { status } = spawnSync(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] });
  if (status !== 0) throw new Error(`${args.join(" ")} ended with ${status}`);
  return performance.now() - begun;
}

try {
  // What every command needs is in the system's cache after the first.
  for (const args of Object.values(commands)) timeOf(args);
  const times = Object.fromEntries(Object.keys(commands).map((name) => [name, []]));
  for (let round = 0; round < Number(values.rounds); round += 1)
    for (const [name, args] of Object.entries(commands)) times[name].push(timeOf(args));
  const medians = Object.entries(times).map(([name, list]) => {
    const sorted = list.toSorted((a, b) => a - b);
    const median = sorted[sorted.length >> 1];
    const [least, most] = [sorted[0], sorted.at(-1)].map((ms) => ms.toFixed(0));
    console.log(`${name.padEnd(24)} ${median.toFixed(1).padStart(6)} ms [${least}..${most}]`);
    return median;
  });
  const ratio = medians[1] / medians[0];
  console.log(`ratio of the medians ${ratio.toFixed(2)}, at most ${MAX_RATIO} is required`);
  if (ratio > MAX_RATIO) process.exitCode = 1;
} finally {
  server.kill("SIGTERM");
}
