import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";
import { expect } from "vitest";
import { pollUntil, withDeadline } from "../fault/deadline.ts";
import { commandLine, processesMarked } from "../fault/proc-fs.ts";
import { runSeed } from "../fault/seeded-random.ts";
import { bundleScript } from "./bundled-script.ts";
import type { WorkloadReport } from "./fault-workload.ts";

/** Time in which a workload of any length finishes what it has begun. */
export const DRAIN_DEADLINE_MS = 90_000;
const ORPHAN_DEADLINE_MS = 30_000;
const EXIT_DEADLINE_MS = 20_000;

export interface WorkloadOptions {
  /** Where the processes run, by way of something bad. */
  readonly url: string;
  readonly seconds: number;
  readonly token?: string;
  /** Program of a bridge to go through. */
  readonly bridge?: string;
  /** How long one process may take, if faults last long. */
  readonly taskMs?: number;
}

/** The lines of a program, each as soon as it is asked for and there. */
function lines(child: ChildProcess): (deadlineMs: number, what: string) => Promise<string> {
  const reader = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  return async (deadlineMs, what) => {
    const { value, done } = await withDeadline(reader.next(), deadlineMs, () => what);
    if (done) throw new Error(`the workload ended before ${what}`);
    return value;
  };
}

/**
 * Runs processes in a separate program, 50 at a time. Fails if anything was lost or duplicated, if a process is left,
 * or if the program does not end by itself.
 */
export async function runWorkload({
  url,
  seconds,
  token,
  bridge,
  taskMs,
}: WorkloadOptions): Promise<WorkloadReport & { endedAfterMs: number }> {
  const marker = `fault-${randomUUID()}`;
  await using script = await bundleScript("fault-workload.ts");
  const child = spawn(
    process.execPath,
    [script.path, url, String(seconds), String(runSeed), marker, ...(bridge === undefined ? [] : [bridge])],
    {
      stdio: ["pipe", "pipe", "inherit"],
      env: {
        ...process.env,
        ...(token === undefined ? {} : { FAULT_TOKEN: token }),
        ...(taskMs === undefined ? {} : { FAULT_TASK_MS: String(taskMs) }),
      },
    },
  );
  const exited = new Promise<number | null>((resolve) => {
    child.once("exit", (code) => resolve(code));
  });
  try {
    const nextLine = lines(child);
    expect(
      await nextLine(seconds * 1000 + DRAIN_DEADLINE_MS + (taskMs ?? 0), "the end of the workload"),
    ).toBe("drained");
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
    const code = await withDeadline(exited, EXIT_DEADLINE_MS, () => `the program to end by itself; ${line}`);
    const report = JSON.parse(line.replace(/^closed /, "")) as WorkloadReport;
    expect(report.problems).toEqual([]);
    expect(code).toBe(0);
    return { ...report, endedAfterMs: Math.round(performance.now() - begun) };
  } finally {
    child.kill("SIGKILL");
    await exited;
  }
}

/** Each kind of process was run several times, and requests were answered meanwhile. */
export function expectWork({ processes, requests }: WorkloadReport): void {
  for (const kind of ["echo", "quiet", "burst", "terminal", "filter"])
    expect(processes[kind]).toBeGreaterThan(5);
  expect(requests.answered).toBeGreaterThan(0);
}
