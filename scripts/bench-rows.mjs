// `npm run bench:rows`: `map` of `true` over many rows, beside bare starts on the same server: pieces of bare starts before
// and after it, with as many at once. Fails if `map`, from its first to its last instruction, has less than 0.7 of the
// bare rate, or if its memory, or the server's, grows. `--rows 5000` is a short form.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const MIN_SHARE = 0.7;
/** By how much the memory of the last quarter may exceed that of the second. */
const MAX_GROWTH = 1.25;
const BARE_STARTS = 3_000;
const SAMPLE_MS = 250;

const root = fileURLToPath(new URL("..", import.meta.url));
const cli = join(root, "dist/cli.js");
const { connect } = await import(join(root, "dist/lib/client/index.js"));
const { values } = parseArgs({
  options: { rows: { type: "string", default: "100000" }, concurrency: { type: "string", default: "64" } },
});
const rows = Number(values.rows);
const concurrency = Number(values.concurrency);
const directory = mkdtempSync(join(tmpdir(), "bench-rows-"));

const server = spawn(process.execPath, [cli, "serve", "--listen", `unix://${directory}/sock`], {
  stdio: ["ignore", "pipe", "inherit"],
});
try {
  await new Promise((resolve) => server.stdout.once("data", resolve));
  const url = `ws+unix://${directory}/sock`;
  await bareRate(url);
  const before = await bareRate(url);
  const mapped = await map(url);
  const after = await bareRate(url);
  const bare = (before + after) / 2;
  const share = mapped.rate / bare;
  console.log(`bare starts   ${before.toFixed(0)} /s before, ${after.toFixed(0)} /s after`);
  console.log(
    `map           ${mapped.rate.toFixed(0)} /s over ${rows} rows: ${share.toFixed(2)} of the bare rate`,
  );
  for (const [name, samples] of Object.entries(mapped.memory)) {
    const [second, last] = [largest(samples, 0.25, 0.5), largest(samples, 0.75, 1)];
    console.log(`memory        ${name} ${mib(second)} in the second quarter, ${mib(last)} in the last`);
    if (last > second * MAX_GROWTH) process.exitCode = 1;
  }
  if (share < MIN_SHARE) process.exitCode = 1;
} finally {
  server.kill();
  rmSync(directory, { recursive: true });
}

/** Starts per second, without anything else. */
async function bareRate(url) {
  const host = await connect(url);
  let left = BARE_STARTS;
  const begun = performance.now();
  const work = async () => {
    while (left > 0) {
      left -= 1;
      const process = await host.start(["true"]);
      await process.closed;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  const seconds = (performance.now() - begun) / 1000;
  await host.close();
  return BARE_STARTS / seconds;
}

async function map(url) {
  const input = join(directory, "rows.csv");
  writeFileSync(input, `n\n${Array.from({ length: rows }, (_, n) => n).join("\n")}\n`);
  const memory = { map: [], server: [] };
  const begun = performance.now();
  const program = spawn(
    process.execPath,
    [cli, "map", "--url", url, "-q", "-j", String(concurrency), input, "--", "true"],
    { stdio: ["ignore", "inherit", "inherit"] },
  );
  const timer = setInterval(() => {
    memory.map.push(residentBytes(program.pid));
    memory.server.push(residentBytes(server.pid));
  }, SAMPLE_MS);
  const status = await new Promise((resolve) => program.once("exit", resolve));
  clearInterval(timer);
  if (status !== 0) throw new Error(`map ended with ${status}`);
  return { rate: rows / ((performance.now() - begun) / 1000), memory };
}

function residentBytes(pid) {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

function largest(samples, from, to) {
  return Math.max(...samples.slice(Math.floor(samples.length * from), Math.ceil(samples.length * to)));
}

function mib(bytes) {
  return `${(bytes / 1024 / 1024).toFixed(0)} MiB`;
}
