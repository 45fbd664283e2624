import { useSignal } from "@preact/signals";
import type { Host } from "../../client/browser.ts";
import { formatDuration } from "../../base/amounts.ts";
import { visibleText } from "../../base/visible-text.ts";
import { Failure } from "../connection/failure.tsx";
import { isAllowed } from "../connection/server-link.ts";
import { useHost } from "../connection/use-host.ts";
import { inGroup, useCommands } from "../frame/commands.ts";
import { nameOf } from "../frame/paths.ts";
import { navigate, pathTo } from "../frame/router.ts";
import { ViewFrame } from "../frame/view-frame.tsx";
import { processList, serverNow, useProcessList } from "../processes/process-list.ts";
import { ProcessState } from "../processes/process-state.tsx";
import { Badge } from "../ui/badge.tsx";
import { Button, IconButton } from "../ui/button.tsx";
import { commandLine } from "../ui/command-line.ts";
import { type DataColumn, DataTable } from "../ui/data-table.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import { Field, writeTo } from "../ui/field.tsx";
import type { ServerJob } from "./job-start.ts";
import { forgetLedger, recentLedgers } from "./known-jobs.ts";
import { canStartJobs, canStop, jobsFromElsewhere, serverJobs, stopJob } from "./server-jobs.ts";
import { StartJob } from "./start-job.tsx";

/** Jobs of the server, and ledgers that were opened before. */
export function JobList() {
  useProcessList();
  const host = useHost();
  const isStarting = useSignal(false);
  const recent = useSignal(recentLedgers());
  const jobs = serverJobs();
  const elsewhere = jobsFromElsewhere();
  const others = recent.value.filter((path) => !jobs.some(({ ledger }) => ledger === path));
  const canStart = canStartJobs(host);
  const openStart = (): void => {
    isStarting.value = true;
  };
  useCommands(
    () =>
      canStart
        ? inGroup("Rows", [{ id: "rows-start", title: "Start a job over rows", keys: "n", run: openStart }])
        : [],
    [canStart],
  );
  const startButton = (
    <Button kind="primary" icon="plus" title="Start a job over rows (n)" onClick={openStart}>
      Start
    </Button>
  );
  const { rows, failure } = processList;
  const isListed = !isAllowed("follow") || rows.value !== undefined || failure.value !== undefined;
  const isEmpty = jobs.length + elsewhere.length + others.length === 0;
  return (
    <ViewFrame title="Rows" actions={canStart && !isEmpty ? startButton : null}>
      <Failure error={failure.value} />
      {isEmpty ? (
        <div class="view-column">
          <OpenLedger />
          {isListed ? (
            <EmptyState
              icon="rows"
              title="No jobs here yet"
              text="A job runs a command for each row of a CSV or JSON Lines file, many at once, and writes all results into one file."
            >
              {canStart ? startButton : null}
            </EmptyState>
          ) : null}
        </div>
      ) : (
        <>
          {jobs.length === 0 ? null : (
            <DataTable columns={columnsOf(host)} rows={jobs} rowKey={({ ledger }) => ledger} />
          )}
          <ul class="rows-list">
            {elsewhere.map(({ jobId, rows }) => (
              <li key={jobId}>
                <span class="code">{visibleText(jobId)}</span>
                <Badge kind="good">{rows === 1 ? "1 row running" : `${rows} rows running`}</Badge>
                <span class="hint">Started elsewhere: open its ledger to follow it.</span>
              </li>
            ))}
            {others.map((path) => (
              <li key={path}>
                <a class="code" href={jobPath(path)}>
                  {visibleText(path)}
                </a>
                <IconButton
                  icon="close"
                  label={`Forget ${visibleText(path)}`}
                  onClick={() => {
                    forgetLedger(path);
                    recent.value = recentLedgers();
                  }}
                />
              </li>
            ))}
          </ul>
          <OpenLedger />
        </>
      )}
      {isStarting.value ? (
        <StartJob
          onStarted={(ledger) => navigate(jobPath(ledger))}
          onClose={() => {
            isStarting.value = false;
          }}
        />
      ) : null}
    </ViewFrame>
  );
}

function columnsOf(host: Host): readonly DataColumn<ServerJob>[] {
  return [
    {
      title: "Rows of",
      class: "wraps code",
      cell: ({ ledger, start: { input } }) => (
        <a href={jobPath(ledger)} title={visibleText(input)}>
          {visibleText(nameOf(input))}
        </a>
      ),
    },
    {
      title: "Command",
      class: "wraps soft code",
      cell: ({ start: { command, inShell } }) =>
        visibleText(inShell ? command.join(" ") : commandLine(command)),
    },
    { title: "State", cell: ({ listed }) => <ProcessState listed={listed} /> },
    {
      title: "Started",
      class: "right number",
      cell: ({ listed: { startedAtMs } }) => `${formatDuration(serverNow() - startedAtMs)} ago`,
    },
    {
      title: "",
      class: "right",
      cell: (job) =>
        canStop(job) ? (
          <IconButton
            icon="stop"
            label={`Stop ${visibleText(nameOf(job.start.input))}`}
            onClick={() => void stopJob(host, job)}
          />
        ) : null,
    },
  ];
}

/** Any job on the server's machine, by the path of its ledger. */
function OpenLedger() {
  const text = useSignal("");
  const open = (event: Event): void => {
    event.preventDefault();
    if (isPath(text.value)) navigate(jobPath(text.value.trim()));
  };
  return (
    <form class="rows-open" onSubmit={open}>
      <Field
        label="Ledger of a job that was started elsewhere"
        hint="The path on the server's machine: OUTPUT.ledger beside the output, unless --ledger says otherwise."
        error={text.value === "" || isPath(text.value) ? undefined : "Enter an absolute path."}
      >
        {(ids) => (
          <input
            {...ids}
            class="code"
            placeholder="/home/me/results.csv.ledger"
            spellcheck={false}
            autocomplete="off"
            value={text.value}
            onInput={writeTo(text)}
          />
        )}
      </Field>
      <Button type="submit" disabled={!isPath(text.value)}>
        Open
      </Button>
    </form>
  );
}

function isPath(text: string): boolean {
  return /^\/[^/]/.test(text.trim());
}

function jobPath(ledger: string): string {
  return pathTo("/r", ledger.replace(/^\/+/, ""));
}
