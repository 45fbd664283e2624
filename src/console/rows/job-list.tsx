import { useSignal } from "@preact/signals";
import { useHost } from "../connection/use-host.ts";
import { navigate, pathTo } from "../frame/router.ts";
import { ViewFrame } from "../frame/view-frame.tsx";
import { usePolled } from "../ui/use-polled.ts";
import { Badge } from "../ui/badge.tsx";
import { Button, IconButton } from "../ui/button.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import { Field, writeTo } from "../ui/field.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { forgetLedger, recentLedgers, runningJobs } from "./known-jobs.ts";

const EVERY_MS = 2000;

/** Jobs that run on the server, and ledgers that were opened before. */
export function JobList() {
  const host = useHost();
  const text = useSignal("");
  const recent = useSignal(recentLedgers());
  const polled = usePolled(() => runningJobs(host), { everyMs: EVERY_MS, deps: [host] });
  const running = polled.value.value ?? [];
  const open = (event: Event): void => {
    event.preventDefault();
    if (isPath(text.value)) navigate(jobPath(text.value.trim()));
  };
  return (
    <ViewFrame title="Rows">
      <form class="rows-open" onSubmit={open}>
        <Field
          label="Ledger of a job"
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
        <Button kind="primary" type="submit" disabled={!isPath(text.value)}>
          Open
        </Button>
      </form>
      {running.length === 0 && recent.value.length === 0 ? (
        <EmptyState
          icon="rows"
          title="No jobs here yet"
          text={
            <>
              <code>exec-server map</code> and <code>exec-server agents</code> work through the rows of a
              file. Open the ledger of a job to follow it.
            </>
          }
        />
      ) : (
        <ul class="rows-list">
          {running.map(({ jobId, rows }) => (
            <li key={jobId}>
              <span class="code">{visibleText(jobId)}</span>
              <Badge kind="good">{rows === 1 ? "1 row running" : `${rows} rows running`}</Badge>
            </li>
          ))}
          {recent.value.map((path) => (
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
      )}
    </ViewFrame>
  );
}

function isPath(text: string): boolean {
  return /^\/[^/]/.test(text.trim());
}

function jobPath(ledger: string): string {
  return pathTo("/r", ledger.replace(/^\/+/, ""));
}
