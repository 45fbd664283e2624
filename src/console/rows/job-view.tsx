import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Failure } from "../connection/failure.tsx";
import { useHost } from "../connection/use-host.ts";
import { ViewFrame } from "../frame/view-frame.tsx";
import { Badge } from "../ui/badge.tsx";
import { commandLine } from "../ui/command-line.ts";
import { type DataColumn, DataTable } from "../ui/data-table.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { rememberLedger } from "./known-jobs.ts";
import { type BadRow, followLedger, type JobProgress, ROW_STATES } from "./ledger-reader.ts";

/** One job, according to its ledger. */
export function JobView({ path }: { readonly path: string }) {
  const host = useHost();
  const progress = useSignal<JobProgress | undefined>(undefined);
  const failure = useSignal<unknown>(undefined);
  const isEmpty = useSignal(false);
  useEffect(() => {
    const stop = new AbortController();
    const { signal } = stop;
    const onProgress = (latest: JobProgress): void => {
      if (progress.value === undefined) rememberLedger(path);
      progress.value = latest;
    };
    const onEmpty = (): void => {
      isEmpty.value = true;
    };
    followLedger(host, path, { signal, onProgress, onEmpty }).catch((error: unknown) => {
      if (!signal.aborted) failure.value = error;
    });
    return () => stop.abort();
  }, [host, path]);
  return (
    <ViewFrame
      title={
        <>
          <a class="rows-up" href="/r">
            Rows
          </a>{" "}
          / <span class="code">{visibleText(path)}</span>
        </>
      }
    >
      <Failure error={failure.value} />
      {progress.value !== undefined ? (
        <Job progress={progress.value} />
      ) : isEmpty.value && failure.value === undefined ? (
        <EmptyState
          icon="rows"
          title="This file is still empty"
          text="The job appears here as soon as it is recorded."
        />
      ) : null}
    </ViewFrame>
  );
}

function Job({ progress }: { readonly progress: JobProgress }) {
  const { job, completed, failed, cancelled, lost, running, retries, stopped, badRows } = progress;
  const ended = completed + failed + cancelled + lost;
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
      {badRows.length === 0 ? null : <BadRows progress={progress} />}
    </div>
  );
}

const COLUMNS: readonly DataColumn<BadRow>[] = [
  { title: "Row", class: "right number", cell: ({ index }) => index + 1 },
  { title: "Id", class: "code", cell: ({ id }) => visibleText(id ?? "") },
  { title: "Outcome", cell: ({ status }) => visibleText(status) },
  { title: "Attempts", class: "right number", cell: ({ attempts }) => attempts },
  { title: "Error", class: "wraps soft", cell: ({ error }) => visibleText(error) },
];

function BadRows({ progress }: { readonly progress: JobProgress }) {
  const { badRows, failed, cancelled, lost } = progress;
  const all = failed + cancelled + lost;
  return (
    <section class="rows-bad">
      <h2>
        {badRows.length < all ? `The last ${badRows.length} of ${all} rows that failed` : "Rows that failed"}
      </h2>
      <DataTable columns={COLUMNS} rows={badRows} rowKey={({ index }) => index} />
    </section>
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
            <dd class="code">{visibleText(shownValue(value))}</dd>
          </div>
        ))}
    </dl>
  );
}

function shownValue(value: unknown): string {
  if (typeof value === "string") return value;
  const isArgv = Array.isArray(value) && value.every((word) => typeof word === "string");
  return isArgv ? commandLine(value) : JSON.stringify(value);
}
