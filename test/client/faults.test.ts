import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { pollUntil, withDeadline } from "../fault/deadline.ts";
import { commandLine, processesMarked } from "../fault/proc-fs.ts";
import { runSeed, SeededRandom } from "../fault/seeded-random.ts";
import { startServer } from "../fault/server-under-test.ts";
import { bundleScript } from "./bundled-script.ts";
import { FaultProxy } from "./fault-proxy.ts";
import type { WorkloadReport } from "./fault-workload.ts";

/** FAULT_SECONDS=60 is the long form. */
const longForm = process.env["FAULT_SECONDS"];
const DRAIN_DEADLINE_MS = 90_000;
const ORPHAN_DEADLINE_MS = 10_000;
const EXIT_DEADLINE_MS = 5_000;

/** The lines of a program, each as soon as it is asked for and there. */
function lines(child: ChildProcess): (deadlineMs: number, what: string) => Promise<string> {
  const reader = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  return async (deadlineMs, what) => {
    const { value, done } = await withDeadline(reader.next(), deadlineMs, () => what);
    if (done) throw new Error(`the workload ended before ${what}`);
    return value;
  };
}

const program = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));

describe.each([
  { way: "a bad connection", seconds: Number(longForm ?? 12), bridge: [] },
  { way: "a bridge with a bad connection", seconds: Number(longForm ?? 6), bridge: [program] },
])("50 processes at a time through $way, $seconds s", ({ seconds, bridge }) => {
  test("nothing lost, nothing twice, nothing left", {
    timeout: seconds * 1000 + DRAIN_DEADLINE_MS + 30_000,
  }, async () => {
    const marker = `fault-${randomUUID()}`;
    await using server = await startServer();
    await using proxy = await FaultProxy.open(server.port, new SeededRandom(runSeed));
    await using script = await bundleScript("fault-workload.ts");
    const child = spawn(
      process.execPath,
      [script.path, proxy.url, String(seconds), String(runSeed), marker, ...bridge],
      { stdio: ["pipe", "pipe", "inherit"] },
    );
    const exited = new Promise<number | null>((resolve) => {
      child.once("exit", (code) => resolve(code));
    });
    try {
      const nextLine = lines(child);
      expect(await nextLine(seconds * 1000 + DRAIN_DEADLINE_MS, "the end of the workload")).toBe("drained");
      // Neither the program nor the server: only what the server was asked to start carries the marker.
      const left = () => processesMarked(marker).filter((pid) => pid !== child.pid);
      await pollUntil(
        () => left().length === 0,
        ORPHAN_DEADLINE_MS,
        () => `processes of lost starts to end: ${left().map(commandLine).join("; ")}`,
      );
      child.stdin.write("go on\n");
      const line = await nextLine(EXIT_DEADLINE_MS, "the end of the host");
      const begun = performance.now();
      const code = await withDeadline(
        exited,
        EXIT_DEADLINE_MS,
        () => `the program to end by itself; ${line}`,
      );
      const report = JSON.parse(line.replace(/^closed /, "")) as WorkloadReport;
      const endedAfterMs = Math.round(performance.now() - begun);
      const summary = JSON.stringify({ seed: runSeed, faults: proxy.counts, ...report, endedAfterMs });
      process.stdout.write(`${summary}\n`);
      expect(report.problems).toEqual([]);
      expect(code).toBe(0);
      if (bridge.length === 0) expect(report.recoveries).toBeGreaterThan(seconds / 4);
      else expect(report).toMatchObject({ recoveries: 0, lostStarts: 0, requests: { lost: 0 } });
      expect(proxy.counts.connections).toBeGreaterThan(seconds / 4);
      for (const kind of ["echo", "quiet", "burst", "terminal", "filter"])
        expect(report.processes[kind]).toBeGreaterThan(5);
      expect(report.requests.answered).toBeGreaterThan(0);
      // The rest belongs to stdin and stdout, which the test holds. A command ends with its client.
      if (bridge.length === 0)
        expect(report.resources.filter((name) => !["PipeWrap", "Immediate"].includes(name))).toEqual([]);
    } finally {
      child.kill("SIGKILL");
      await exited;
    }
  });
});
