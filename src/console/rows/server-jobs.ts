import type { Host, ListedProcess } from "../../client/browser.ts";
import { isAllowed, serverLink } from "../connection/server-link.ts";
import { nameOf, parentOf } from "../frame/paths.ts";
import { isControllable, sendSignal } from "../processes/process-actions.ts";
import { processList, refreshProcesses } from "../processes/process-list.ts";
import { suggestName } from "../start/parse-command.ts";
import { startKept } from "../start/start-kept.ts";
import { confirm } from "../ui/confirm.tsx";
import { jobArgv, type JobMode, jobsOf, type JobStart, ledgerOf, type ServerJob } from "./job-start.ts";

/** A job of which commands run on the server, started elsewhere. */
export interface RunningJob {
  readonly jobId: string;
  readonly rows: number;
}

function listedProcesses(): readonly ListedProcess[] {
  return (processList.rows.value ?? []).map(({ listed }) => listed);
}

/** The jobs of the server, the latest first. */
export function serverJobs(): readonly ServerJob[] {
  return jobsOf(listedProcesses(), serverLink.rights.value?.principal);
}

/** `rows.JOB.INDEX.ATTEMPT` */
const ROW_NAME = /^rows\.([^.]+)\.[0-9]+\.[0-9]+$/;

export function jobsFromElsewhere(): readonly RunningJob[] {
  const counts = new Map<string, number>();
  for (const { name, state } of listedProcesses()) {
    const [, jobId] = ROW_NAME.exec(name ?? "") ?? [];
    if (jobId !== undefined && state === "running") counts.set(jobId, (counts.get(jobId) ?? 0) + 1);
  }
  return Array.from(counts, ([jobId, rows]) => ({ jobId, rows }));
}

/** Whether the user may start jobs, and the server can. */
export function canStartJobs(host: Host): boolean {
  const { program } = serverLink;
  return isAllowed("start") && program.value !== undefined && host.supports("process/start.keep");
}

export function isRunning({ listed }: ServerJob): boolean {
  return listed.state !== "closed";
}

/** Whether a job has ended and is the user's to continue. */
export function canContinue(host: Host, job: ServerJob): boolean {
  return job.isOwn && !isRunning(job) && canStartJobs(host);
}

/** Whether the user may stop a job, and there is something to stop. */
export function canStop(job: ServerJob): boolean {
  return isRunning(job) && isControllable(job.listed);
}

/** Starts a job, or continues it. It keeps running when the page is closed. */
export async function startJob(host: Host, start: JobStart, mode?: JobMode): Promise<void> {
  const before = serverJobs().find(({ ledger }) => ledger === ledgerOf(start));
  const taken = new Set(listedProcesses().map(({ name }) => name ?? ""));
  const replaced = before?.isOwn === true && !isRunning(before) ? before.listed.name : undefined;
  await startKept(host, jobArgv(serverLink.program.value!, start, mode), {
    name: replaced ?? suggestName([`rows-${nameOf(start.input)}`], taken),
    replaces: replaced !== undefined,
    cwd: parentOf(start.input),
    isTerminal: false,
    takesInput: false,
    variables: [],
    sandbox: "",
  });
  await refreshProcesses();
}

/** Asks, then interrupts a job, as Ctrl-C does: what runs is ended, and what has ended is in the results. */
export async function stopJob(host: Host, { listed }: ServerJob): Promise<void> {
  const isSure = await confirm({
    title: "Stop this job?",
    text: "The rows that are running end, and no further ones start. You can resume the job later.",
    action: "Stop",
    danger: true,
  });
  if (isSure) await sendSignal(host, listed, "SIGINT");
}
