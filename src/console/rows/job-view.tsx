import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { visibleLines, visibleText } from "../../base/visible-text.ts";
import { attempt } from "../connection/attempt.ts";
import { Failure } from "../connection/failure.tsx";
import { isAllowed } from "../connection/server-link.ts";
import { useHost } from "../connection/use-host.ts";
import { addressOf as fileAddress, nameOf } from "../frame/paths.ts";
import { ViewFrame } from "../frame/view-frame.tsx";
import { addressOf, pathOf } from "../processes/process-address.ts";
import { lastWords } from "../processes/process-actions.ts";
import { processList, useProcessList } from "../processes/process-list.ts";
import { ProcessState } from "../processes/process-state.tsx";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { commandLine } from "../ui/command-line.ts";
import { EmptyState } from "../ui/empty-state.tsx";
import { ErrorBox } from "../ui/error-box.tsx";
import type { JobMode, ServerJob } from "./job-start.ts";
import { rememberLedger } from "./known-jobs.ts";
import { countEnded, followLedger, type JobProgress, ROW_STATES } from "./ledger-reader.ts";
import { RowTable } from "./row-table.tsx";
import {
  canContinue,
  canStartJobs,
  canStop,
  isRunning,
  serverJobs,
  startJob,
  stopJob,
} from "./server-jobs.ts";
import { StartJob } from "./start-job.tsx";

/** One job, according to its ledger and the process that runs it, if that is one of the server's. */
export function JobView({ path }: { readonly path: string }) {
  useProcessList();
  const host = useHost();
  const progress = useSignal<JobProgress | undefined>(undefined);
  const failure = useSignal<unknown>(undefined);
  const isEmpty = useSignal(false);
  const job = serverJobs().find(({ ledger }) => ledger === path);
  const { rows, failure: listFailure } = processList;
  const isKnown = !isAllowed("follow") || rows.value !== undefined || listFailure.value !== undefined;
  // A further run may begin the ledger anew.
  const run = job?.listed.startedAtMs;
  useEffect(() => {
    if (!isKnown) return;
    const stop = new AbortController();
    const { signal } = stop;
    let isNew = true;
    failure.value = undefined;
    const onProgress = (latest: JobProgress): void => {
      if (isNew) rememberLedger(path);
      isNew = false;
      progress.value = latest;
    };
    const onEmpty = (): void => {
      isEmpty.value = true;
    };
    const isExpected = (): boolean => serverJobs().some(({ ledger }) => ledger === path);
    followLedger(host, path, { signal, onProgress, onEmpty, isExpected }).catch((error: unknown) => {
      if (!signal.aborted) failure.value = error;
    });
    return () => stop.abort();
  }, [host, path, isKnown, run]);
  return (
    <ViewFrame
      title={
        <>
          <a class="rows-up" href="/r">
            Rows
          </a>{" "}
          /{" "}
          <span class="code" title={visibleText(path)}>
            {visibleText(nameOf(path))}
          </span>
        </>
      }
      actions={<Actions path={path} job={job} progress={progress.value} />}
    >
      <div class="view-column">
        <Failure error={failure.value} />
        {job === undefined ? null : <LastWords key={job.listed.startedAtMs} job={job} />}
        {progress.value !== undefined ? (
          <>
            <Summary progress={progress.value} job={job} />
            <RowTable progress={progress} />
          </>
        ) : isEmpty.value && failure.value === undefined && (job === undefined || isRunning(job)) ? (
          <EmptyState
            icon="rows"
            title="Nothing is recorded yet"
            text="The job appears here as soon as the rows have been checked."
          />
        ) : null}
      </div>
    </ViewFrame>
  );
}

interface ActionsProps {
  readonly path: string;
  readonly job: ServerJob | undefined;
  readonly progress: JobProgress | undefined;
}

/** What can be done with a job. */
function Actions({ path, job, progress }: ActionsProps) {
  const host = useHost();
  const isAsking = useSignal(false);
  const isBusy = useSignal(false);
  const results =
    job?.start.output ?? (path.endsWith(".ledger") ? path.slice(0, -".ledger".length) : undefined);
  const isOver = job !== undefined && !isRunning(job) && canStartJobs(host);
  const mode =
    job !== undefined && canContinue(host, job) && progress !== undefined ? nextMode(progress) : undefined;
  const start = async (next: JobMode): Promise<void> => {
    isBusy.value = true;
    await attempt("The job was not started", () => startJob(host, job!.start, next));
    isBusy.value = false;
  };
  return (
    <>
      {results !== undefined && progress !== undefined && isAllowed("readFiles") ? (
        <a class="button plain" href={fileAddress(results)}>
          Results
        </a>
      ) : null}
      {job !== undefined && canStop(job) ? (
        <Button icon="stop" kind="danger" onClick={() => void stopJob(host, job)}>
          Stop
        </Button>
      ) : null}
      {isOver ? (
        <Button icon="refresh" onClick={() => (isAsking.value = true)}>
          Start again…
        </Button>
      ) : null}
      {mode === undefined ? null : (
        <Button icon="play" kind="primary" disabled={isBusy.value} onClick={() => void start(mode)}>
          {mode === "--resume" ? "Resume" : "Run the failed rows again"}
        </Button>
      )}
      {isAsking.value ? (
        <StartJob
          wishes={job?.start}
          onStarted={() => {}}
          onClose={() => {
            isAsking.value = false;
          }}
        />
      ) : null}
    </>
  );
}

/** How an ended job is continued; undefined if all rows have a result. */
function nextMode({ job, completed, failed, lost }: JobProgress): JobMode | undefined {
  if (completed + failed + lost < job.rows) return "--resume";
  return failed + lost > 0 ? "--only-failed" : undefined;
}

/** Statuses of `map`: all rows succeeded, some did not, and interrupted. */
const USUAL = new Set([0, 1, 130]);

/** Why a job could not run. */
function LastWords({ job }: { readonly job: ServerJob }) {
  const host = useHost();
  const words = useSignal("");
  const { listed } = job;
  const hasFailed = !isRunning(job) && !USUAL.has(listed.exitCode ?? -1);
  useEffect(() => {
    if (!hasFailed) return;
    lastWords(host, listed).then(
      (text) => {
        words.value = text;
      },
      () => {}, // Its output may be forgotten; the state says that it has failed.
    );
  }, [hasFailed]);
  if (!hasFailed) return null;
  return (
    <div class="view-failed rows-words">
      <ErrorBox text={visibleLines(words.value) || "The job could not run."}>
        <a class="button plain" href={pathOf(addressOf(listed)!, { tty: false })}>
          Open the output
        </a>
      </ErrorBox>
    </div>
  );
}

interface SummaryProps {
  readonly progress: JobProgress;
  readonly job: ServerJob | undefined;
}

function Summary({ progress, job: serverJob }: SummaryProps) {
  const { job, running, retries, stopped } = progress;
  const ended = countEnded(progress);
  const percent = job.rows === 0 ? 100 : Math.floor((100 * ended) / job.rows);
  return (
    <div class="rows-job">
      <Work work={job.work} />
      <div class="rows-head">
        <strong class="number">{percent} %</strong>
        <span class="number">
          {ended.toLocaleString("en")} of {job.rows.toLocaleString("en")} rows of{" "}
          <span class="code">{visibleText(job.input)}</span>
        </span>
        {serverJob === undefined ? null : <ProcessState listed={serverJob.listed} />}
        {stopped === undefined ? null : <Badge kind="warn">stopped: {visibleText(stopped)}</Badge>}
      </div>
      <div
        class="rows-bar"
        role="progressbar"
        aria-label="Ended rows"
        aria-valuemin={0}
        aria-valuemax={job.rows}
        aria-valuenow={ended}
      >
        {ROW_STATES.map((kind) => (
          <span key={kind} class={kind} style={{ flexGrow: progress[kind] }} />
        ))}
        <span style={{ flexGrow: Math.max(0, job.rows - ended - running) }} />
      </div>
      <dl class="rows-counts">
        {ROW_STATES.map((kind) => (
          <div key={kind} class={kind}>
            <dt>{kind}</dt>
            <dd class="number">{progress[kind].toLocaleString("en")}</dd>
          </div>
        ))}
        <div>
          <dt>retries</dt>
          <dd class="number">{retries.toLocaleString("en")}</dd>
        </div>
      </dl>
    </div>
  );
}

/** The work for each row, without options that are not set. */
function Work({ work }: { readonly work: JobProgress["job"]["work"] }) {
  return (
    <dl class="rows-work">
      {Object.entries(work)
        .filter(([, value]) => value !== null && value !== false && value !== "none")
        .map(([name, value]) => (
          <div key={name}>
            <dt>{visibleText(name)}</dt>
            <dd class="code">{visibleText(shownValue(value, work["shell"] === true))}</dd>
          </div>
        ))}
    </dl>
  );
}

function shownValue(value: unknown, inShell: boolean): string {
  if (typeof value === "string") return value;
  const isArgv = Array.isArray(value) && value.every((word) => typeof word === "string");
  if (!isArgv) return JSON.stringify(value);
  return inShell ? value.join(" ") : commandLine(value);
}
