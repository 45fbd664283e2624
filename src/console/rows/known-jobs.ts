import type { Host } from "../../client/browser.ts";
import { readStored } from "../frame/read-stored.ts";

const KEY = "exec-server-ledgers";
const MAX_JOBS = 12;

/** Paths of ledgers that were opened in this browser, the latest first. */
export function recentLedgers(): string[] {
  const stored = readStored(localStorage, KEY);
  return Array.isArray(stored) ? stored.filter((path) => typeof path === "string") : [];
}

export function rememberLedger(path: string): void {
  forgetLedger(path);
  localStorage.setItem(KEY, JSON.stringify([path, ...recentLedgers()].slice(0, MAX_JOBS)));
}

export function forgetLedger(path: string): void {
  localStorage.setItem(KEY, JSON.stringify(recentLedgers().filter((known) => known !== path)));
}

/** A job whose commands are running on the server. */
export interface RunningJob {
  readonly jobId: string;
  readonly rows: number;
}

/** `rows.JOB.INDEX.ATTEMPT` */
const ROW_NAME = /^rows\.([^.]+)\.[0-9]+\.[0-9]+$/;

export async function runningJobs(host: Host): Promise<RunningJob[]> {
  const counts = new Map<string, number>();
  for (const { name, state } of await host.processes({ scope: "kept" })) {
    const [, jobId] = ROW_NAME.exec(name ?? "") ?? [];
    if (jobId !== undefined && state === "running") counts.set(jobId, (counts.get(jobId) ?? 0) + 1);
  }
  return Array.from(counts, ([jobId, rows]) => ({ jobId, rows }));
}
