// `npm run bench:spool`: what it costs that a durable server keeps output on disk. In each round a kept process writes
// 2 GB in memory only, and another one on disk as well, while another client sends requests; before, the same requests
// alone. Then `exec-server logs` must print every byte that the limit keeps. Figures that compare are ratios within one
// round. `--bytes N`: so much instead; `--rounds N`: 3 by default.
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { peakRss, resetPeak } from "../bench/process-costs.mjs";
import { oursTarget } from "../bench/servers.mjs";
import { inSession } from "../bench/session.mjs";
import { quantile } from "../bench/statistics.mjs";
import { withDeadline } from "../bench/waiting.mjs";

const CLI = fileURLToPath(new URL("../dist/cli.js", import.meta.url));
const LIMIT = 128 * 1024 * 1024;
const IDLE_MS = 3_000;
const DEADLINE_MS = 600_000;
/** A line of `seq` from here on has ten bytes. */
const FIRST = 100_000_000;

const { values: options } = parseArgs({
  options: { bytes: { type: "string", default: "2000000000" }, rounds: { type: "string", default: "3" } },
});
const lines = Math.ceil(Number(options.bytes) / 10);
const last = FIRST + lines - 1;

const run = promisify(execFile);
const cli = async (...args) => (await run(process.execPath, [CLI, ...args])).stdout;

/** Sends one request after the other until `over` resolves; milliseconds of each. */
async function requestsUntil(wire, over) {
  const times = [];
  const state = { isOver: false };
  void over.finally(() => (state.isOver = true)).catch(() => {});
  while (!state.isOver) {
    const begun = performance.now();
    await wire.request("environment/status");
    times.push(performance.now() - begun);
    // As an interactive client: the server is not to be busy with these.
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await over;
  return times;
}

async function flood(wire, name, spool) {
  const begun = performance.now();
  await wire.request("process/start", {
    processId: name,
    argv: ["seq", String(FIRST), String(last)],
    cwd: "file:///",
    env: { PATH: process.env.PATH },
    tty: false,
    pipeStdin: false,
    keep: { name, replace: true },
    spool,
  });
  // Nobody reads it now.
  await wire.request("process/detach", { processId: name });
  for (;;) {
    const { processes } = await wire.request("process/list", { scope: "kept" });
    if (processes.find((each) => each.name === name)?.state === "closed") break;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return (lines * 10) / 1e6 / ((performance.now() - begun) / 1_000);
}

const shown = (value) => value.toFixed(2).padStart(9);
const row = (name, values) => console.log(`${name.padEnd(34)}${values.map(shown).join("")}`);

const parent = mkdtempSync("/var/tmp/bench-spool-");
const directory = join(parent, "d");
const server = await oursTarget([], ["--durable", directory]).open("ws");
try {
  const { keeper } = JSON.parse(await inSession(server, () => cli("durable", "status", "--json", directory)));
  const rounds = [];
  for (let round = 0; round < Number(options.rounds); round += 1)
    await inSession(server, async ({ wire }) =>
      inSession(server, async (other) => {
        const idle = await requestsUntil(wire, new Promise((resolve) => setTimeout(resolve, IDLE_MS)));
        const works = {};
        for (const [name, spool] of [
          ["plain", false],
          ["disk", true],
        ]) {
          resetPeak(keeper.pid);
          const flooded = withDeadline(flood(other.wire, name, spool), name, DEADLINE_MS);
          const times = await requestsUntil(wire, flooded);
          works[name] = { rate: await flooded, times, peak: peakRss(keeper.pid) };
        }
        rounds.push({ idle, ...works });
      }),
    );
  const each = (value) => rounds.map(value);
  const p99 = (times) => quantile(times, 0.99);
  row(
    "output in memory, MB/s",
    each(({ plain }) => plain.rate),
  );
  row(
    "output on disk, MB/s",
    each(({ disk }) => disk.rate),
  );
  row(
    "  of that in memory",
    each(({ plain, disk }) => disk.rate / plain.rate),
  );
  row(
    "a request alone, p99 ms",
    each(({ idle }) => p99(idle)),
  );
  row(
    "  beside output in memory, times",
    each(({ idle, plain }) => p99(plain.times) / p99(idle)),
  );
  row(
    "  beside output on disk, times",
    each(({ idle, disk }) => p99(disk.times) / p99(idle)),
  );
  row(
    "a request alone, p50 ms",
    each(({ idle }) => quantile(idle, 0.5)),
  );
  row(
    "  beside output on disk, times",
    each(({ idle, disk }) => quantile(disk.times, 0.5) / quantile(idle, 0.5)),
  );
  row(
    "peak memory, in memory, MiB",
    each(({ plain }) => plain.peak),
  );
  row(
    "peak memory, on disk, MiB",
    each(({ disk }) => disk.peak),
  );

  const output = join(directory, "output");
  const onDisk = readdirSync(output).reduce((sum, name) => sum + statSync(join(output, name)).size, 0);
  const logs = `node ${CLI} logs --url ${server.url} disk 2>/dev/null`;
  const script = `first=$(${logs} | sed -n 2p); cmp <(${logs} | tail -n +2) <(seq $first ${last}) && echo $first`;
  const first = Number((await run("bash", ["-c", script], { timeout: DEADLINE_MS })).stdout);
  const printed = (last - first + 1) * 10;
  console.log(`\nlogs prints the last ${printed} bytes, each as it was written; ${onDisk} bytes are on disk`);
  if (printed < Math.min(lines * 10 - 10, LIMIT * 0.9)) throw new Error("that is less than the limit keeps");
} finally {
  await server.stop();
  await cli("durable", "end", directory).catch(console.error);
  rmSync(parent, { recursive: true, force: true });
}
