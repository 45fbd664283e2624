import { describeError } from "../../connection/describe-error.ts";
import { IconButton } from "../../ui/button.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Progress } from "../../ui/progress.tsx";
import { formatSize } from "../../../base/amounts.ts";
import { type Job, jobs } from "./job-queue.ts";

/** The transfers in progress, and how the latest ones ended. */
export function JobList() {
  const listed = jobs.jobs.value;
  if (listed.length === 0) return null;
  return (
    <ul class="files-jobs" aria-label="Transfers">
      {listed.map((job) => (
        <li key={job.id}>
          <JobRow job={job} />
        </li>
      ))}
    </ul>
  );
}

function JobRow({ job }: { readonly job: Job }) {
  const state = job.state.value;
  const { value, max } = job.progress.value;
  if (state === "waiting" || state === "running")
    return (
      <Progress
        label={job.title}
        value={value}
        max={state === "waiting" ? 1 : max}
        text={state === "waiting" ? "waiting" : progressText(job)}
        onStop={() => job.stop()}
      />
    );
  const { text, remedy } = describeError(job.error.value);
  return (
    <div class={`files-job ${state}`} role="status">
      <Icon name={state === "done" ? "check" : "warning"} />
      <span class="files-job-text">
        {job.title}: {ENDS[state]}
        {state === "failed" ? `: ${text} ${remedy ?? ""}` : ""}
      </span>
      <span class="number">{state === "done" ? amount(job, value) : ""}</span>
      <IconButton icon="close" label="Dismiss this" onClick={() => jobs.dismiss(job)} />
    </div>
  );
}

const ENDS = { done: "done", failed: "failed", stopped: "stopped" };

function progressText(job: Job): string {
  const { value, max, unit } = job.progress.value;
  const done = max === undefined ? amount(job, value) : `${amount(job, value)} of ${amount(job, max)}`;
  return unit === "bytes" && job.speed.value > 0
    ? `${done}, ${formatSize(Math.round(job.speed.value))}/s`
    : done;
}

function amount(job: Job, value: number): string {
  return job.progress.value.unit === "bytes" ? formatSize(value) : String(value);
}
