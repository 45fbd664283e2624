import { createHash } from "node:crypto";
import { bytesOf } from "./bulk.mjs";
import { cpuSeconds, peakRss, resetPeak } from "./process-costs.mjs";
import { inSession } from "./session.mjs";

export const MIB = 1024 * 1024;
const GIB = 1024 * MIB;
const VERIFIED_LINES = 500_000;

export const OUTPUT_METRICS = [
  { name: "MB/s", better: "higher" },
  { name: "CPU s/GiB", better: "lower" },
  { name: "peak RSS MiB", better: "lower" },
];

/** The output of `seq`; a terminal turns each line feed into two characters. */
function numberedLines(lineEnd) {
  const hash = createHash("sha256");
  for (let line = 1; line <= VERIFIED_LINES; line += 1000) {
    let text = "";
    for (let i = line; i < line + 1000; i++) text += `${i}${lineEnd}`;
    hash.update(text);
  }
  return hash.digest("hex");
}

/**
 * Before timing: checks numbered lines of several processes at once, so that a lost or swapped chunk changes a hash.
 */
export async function verifyContent(server, { processes = 1, tty = false } = {}) {
  const expected = numberedLines(tty ? "\r\n" : "\n");
  await inSession(server, async (session) => {
    const hashes = new Map();
    session.wire.onBulk = (_method, message) => {
      const { processId } = JSON.parse(message.toString()).params;
      if (!hashes.has(processId)) hashes.set(processId, createHash("sha256"));
      hashes.get(processId).update(bytesOf(message));
    };
    const runs = Array.from({ length: processes }, () =>
      session.run(["seq", "1", String(VERIFIED_LINES)], { tty }),
    );
    await Promise.all(runs);
    const digests = [...hashes.values()].map((hash) => hash.digest("hex"));
    if (digests.length !== processes || digests.some((digest) => digest !== expected)) {
      throw new Error("output differs from what was written");
    }
  });
}

/**
 * Runs `work(session)`, during which `bytes` of output must arrive; returns the client's time and the server's cost.
 */
export async function measureOutput(server, bytes, work) {
  return inSession(server, async (session) => {
    const received = session.countOutput();
    const { pid } = server;
    if (pid) resetPeak(pid);
    const cpuBefore = pid ? cpuSeconds(pid) : 0;
    const begun = performance.now();
    await work(session);
    const seconds = (performance.now() - begun) / 1000;
    if (received() !== bytes) throw new Error(`${received()} of ${bytes} bytes arrived`);
    const cpu = pid ? cpuSeconds(pid) - cpuBefore : null;
    return {
      seconds,
      cpu,
      "MB/s": bytes / 1e6 / seconds,
      "CPU s/GiB": pid ? (cpu / bytes) * GIB : null,
      "peak RSS MiB": pid ? peakRss(pid) : null,
    };
  });
}

/** Processes that write zeros, `bytes` in total. */
export const streamZeros = (server, bytes, { processes = 1, tty = false } = {}) =>
  measureOutput(server, bytes, (session) =>
    Promise.all(
      Array.from({ length: processes }, () =>
        session.run(["head", "-c", String(bytes / processes), "/dev/zero"], { tty }),
      ),
    ),
  );
