import { useSignal } from "@preact/signals";
import { Failure } from "../connection/failure.tsx";
import { useHost } from "../connection/use-host.ts";
import { IconButton } from "../ui/button.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import { ErrorBox } from "../ui/error-box.tsx";
import { type DataColumn, DataTable } from "../ui/data-table.tsx";
import { writeTo } from "../ui/field.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { usePolled } from "../ui/use-polled.ts";

const LINES = 500;

const COLUMNS: readonly DataColumn<ReturnType<typeof readAuditLine>>[] = [
  { title: "Time", class: "number", cell: ({ time }) => visibleText(time) },
  { title: "Who", cell: ({ who }) => visibleText(who) },
  { title: "What", cell: ({ event }) => visibleText(event) },
  { title: "Facts", class: "wraps soft code", cell: ({ facts }) => visibleText(facts) },
  { title: "Line", class: "right number", cell: ({ number }) => number },
];

/** The newest lines of the audit log, the last one first. */
export function AuditLines() {
  const host = useHost();
  const filter = useSignal("");
  // Only on request: each read leaves a line in the log.
  const times = useSignal(0);
  const polled = usePolled((signal) => host.request("server/audit", { maxLines: LINES }, { signal }), {
    deps: [host, times.value],
  });
  const { value, error } = polled.value;
  if (value === undefined && isWithout(error))
    return (
      <EmptyState
        icon="lock"
        title="This server does not keep an audit log"
        text={
          <>
            Start it with <code>--audit FILE</code>, and every connection, start and change is listed here.
          </>
        }
      />
    );
  if (value === undefined) return <Failure error={error} />;
  const wanted = filter.value.toLowerCase();
  const lines = value.lines
    .filter((line) => line.toLowerCase().includes(wanted))
    .map(readAuditLine)
    .reverse();
  return (
    <>
      {value.failing ? (
        <div class="view-failed">
          <ErrorBox
            text="The log cannot be written now."
            remedy="The server's log says why; its disk may be full."
          />
        </div>
      ) : null}
      <div class="system-filter">
        <input
          type="search"
          aria-label="Filter lines"
          placeholder={`Filter the last ${value.lines.length} of ${value.written} lines`}
          value={filter.value}
          onInput={writeTo(filter)}
        />
        <IconButton icon="refresh" label="Refresh" onClick={() => times.value++} />
        <span class="system-file code one-line">{visibleText(value.file)}</span>
      </div>
      <DataTable columns={COLUMNS} rows={lines} rowKey={({ number }) => number} />
    </>
  );
}

function isWithout(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "UNSUPPORTED";
}

/** A line of the audit log, for people. */
function readAuditLine(text: string) {
  const { n, time, principal, token, event, prev: _prev, hash: _hash, ...facts } = parsed(text);
  return {
    number: Number(n),
    time: localTime(word(time)),
    who: word(token ?? principal),
    event: word(event),
    // All other members, without those that chain the lines.
    facts: Object.entries(facts)
      .map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`)
      .join("  "),
  };
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(text) as Readonly<Record<string, unknown>>;
  } catch {
    return { event: "unreadable", text };
  }
}

function word(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function localTime(text: string): string {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? text : date.toLocaleTimeString("en-GB");
}
