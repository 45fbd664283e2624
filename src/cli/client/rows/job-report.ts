import type { JobSummary as FileJobSummary } from "../../../rows/job/file-job.ts";
import type { Leftover, MachinesSummary } from "../../../rows/map/fleet-map.ts";
import { counted, formatDuration } from "../../../base/amounts.ts";
import { printJson } from "../../shared/standard-streams.ts";
import { printable } from "../print/printable.ts";
import { someOf } from "../print/some-of.ts";

import { printsResults, printSummary } from "./job-files.ts";
import type { JobFlags } from "./job-flags.ts";

const MAX_GROUPS = 10;

/** A job, and what became of its machines if there were several. */
type JobSummary = FileJobSummary & {
  readonly machines?: MachinesSummary;
  readonly leftovers?: readonly Leftover[];
};

/** Prints how a job ended. `more` is added to the JSON. */
export async function reportJob(
  summary: JobSummary,
  { flags, more }: { readonly flags: JobFlags; readonly more: Readonly<Record<string, unknown>> },
): Promise<void> {
  if (flags.json === true) await printJson({ ...asJson(summary), ...more });
  else {
    const lines = summaryLines(summary);
    if (!printsResults(flags)) lines.push(resultsLine(summary));
    await printSummary(flags, `${lines.join("\n")}\n`);
  }
}

/** True if every row that was to run has succeeded. */
export function isSuccess(summary: JobSummary, { limit }: { readonly limit?: number }): boolean {
  const { completed, total, failed, cancelled, lost, end } = summary;
  if (end !== "finished" || failed + cancelled + lost > 0) return false;
  return completed === total || limit !== undefined;
}

function pendingOf({ total, completed, failed, cancelled, lost }: JobSummary): number {
  return total - completed - failed - cancelled - lost;
}

function asJson(summary: JobSummary): Record<string, unknown> {
  const { jobId, end, reason, input, output, ledger, total, completed, failed, cancelled, lost, retries } =
    summary;
  return {
    jobId,
    end,
    reason,
    input,
    output,
    ledger,
    rows: total,
    completed,
    failed,
    cancelled,
    lost,
    pending: pendingOf(summary),
    retries,
    moved: summary.moved,
    machines: summary.machines,
    leftovers: summary.leftovers,
    durationMs: Math.round(summary.durationMs),
    groups: summary.groups,
    ordered: summary.isOrdered,
  };
}

function summaryLines(summary: JobSummary): string[] {
  const { total, groups, durationMs, completed, failed, cancelled, lost, retries, moved } = summary;
  const { used = [], unreached = [] } = summary.machines ?? {};
  const pending = pendingOf(summary);
  const counts = {
    completed,
    failed,
    lost,
    cancelled,
    "not run": pending,
    retries,
    "run again elsewhere": moved,
  };
  const named = Object.entries(counts).filter(([name, count]) => count > 0 || name === "completed");
  const parts = named.map(([name, count]) => `${count} ${name}`).join(", ");
  const where = used.length === 0 ? "" : `, on ${counted(used.length, "machine")}`;
  const bad = groups.filter(({ error }) => error !== undefined);
  const more = bad.length - MAX_GROUPS;
  return [
    `${counted(total, "row")}: ${parts}, in ${formatDuration(durationMs)}${where}`,
    ...bad.slice(0, MAX_GROUPS).map(({ status, error = "", count, samples }) => {
      const others = count > samples.length ? ", …" : "";
      return `  ${count} ${status}: ${printable(error)} (${samples.map(printable).join(", ")}${others})`;
    }),
    ...(more > 0 ? [`  and ${more} other errors`] : []),
    ...(summary.end === "stopped" ? [`stopped: ${printable(summary.reason ?? "")}`] : []),
    ...(unreached.length === 0
      ? []
      : [`unreachable, and perhaps still running commands of this job: ${someOf(unreached)}`]),
    ...leftoverLines(summary.leftovers ?? []),
  ];
}

function resultsLine({ output, isOrdered }: JobSummary): string {
  const order = isOrdered ? "" : " (only ended rows, in the order they ended; --resume sorts them)";
  return `results: ${printable(output)}${order}`;
}

/** Processes that a job could not end keep their names, and count as kept processes. */
function leftoverLines(leftovers: readonly Leftover[]): string[] {
  if (leftovers.length === 0) return [];
  const names = leftovers.map(({ name, host }) => (host === undefined ? name : `${name} on ${host}`));
  return [
    `could not be ended, and still exists: ${printable(someOf(names))}; end it with 'exec-server kill NAME'`,
  ];
}
