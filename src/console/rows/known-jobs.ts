import type { Host } from "../../client/browser.ts";

const KEY = "exec-server-ledgers";
const MOST = 12;

/** Paths of ledgers that were opened in this browser, the latest first. */
export function recentLedgers(): string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(kept) ? kept.filter((path) => typeof path === "string") : [];
  } catch {
    return [];
  }
}

export function rememberLedger(path: string): void {
  const others = recentLedgers().filter((known) => known !== path);
  localStorage.setItem(KEY, JSON.stringify([path, ...others].slice(0, MOST)));
}

export function forgetLedger(path: string): void {
  localStorage.setItem(KEY, JSON.stringify(recentLedgers().filter((known) => known !== path)));
}

/** A job whose commands run on the server now. */
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
