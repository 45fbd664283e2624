import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { describeError } from "../connection/describe-error.ts";
import { useHost } from "../connection/use-host.ts";
import { ViewFrame } from "../frame/view-frame.tsx";
import { Badge } from "../ui/badge.tsx";
import { commandLine } from "../ui/command-line.ts";
import { EmptyState } from "../ui/empty-state.tsx";
import { ErrorBox } from "../ui/error-box.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { followLedger } from "./follow-ledger.ts";
import { rememberLedger } from "./known-jobs.ts";
import type { JobProgress } from "./ledger-reader.ts";

const KINDS = ["completed", "failed", "cancelled", "lost", "running"] as const;

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
      {failure.value === undefined ? null : (
        <div class="rows-failure">
          <ErrorBox {...describeError(failure.value)} />
        </div>
      )}
      {progress.value !== undefined ? (
        <Job progress={progress.value} />
      ) : isEmpty.value && failure.value === undefined ? (
        <EmptyState
          icon="rows"
          title="Nothing is in this file yet"
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
        aria-label="Rows that ended"
        aria-valuemin={0}
        aria-valuemax={job.rows}
        aria-valuenow={ended}
      >
        {KINDS.map((kind) => (
          <span key={kind} class={kind} style={{ flexGrow: progress[kind] }} />
        ))}
        <span style={{ flexGrow: Math.max(0, job.rows - ended - running) }} />
      </div>
      <dl class="rows-counts">
        {KINDS.map((kind) => (
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

function BadRows({ progress }: { readonly progress: JobProgress }) {
  const { badRows, failed, cancelled, lost } = progress;
  const all = failed + cancelled + lost;
  return (
    <section class="rows-bad">
      <h2>
        {badRows.length < all
          ? `The last ${badRows.length} of ${all} rows that did not end well`
          : "Rows that did not end well"}
      </h2>
      <table class="system-table">
        <thead>
          <tr>
            <th class="right">Row</th>
            <th>Id</th>
            <th>How</th>
            <th class="right">Attempts</th>
            <th>Why</th>
          </tr>
        </thead>
        <tbody>
          {badRows.map((row) => (
            <tr key={row.index}>
              <td class="right number">{row.index + 1}</td>
              <td class="code">{visibleText(row.id ?? "")}</td>
              <td>{visibleText(row.status)}</td>
              <td class="right number">{row.attempts}</td>
              <td class="system-facts">{visibleText(row.error)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** What is done with each row, without what was not asked for. */
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
