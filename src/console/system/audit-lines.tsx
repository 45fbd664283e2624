import { useSignal } from "@preact/signals";
import { useHost } from "../connection/use-host.ts";
import { IconButton } from "../ui/button.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import { ErrorBox } from "../ui/error-box.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { Failure } from "./failure.tsx";
import { type AuditLine, readAuditLine } from "./read-audit-line.ts";
import { usePolled } from "../ui/use-polled.ts";

const LINES = 500;

/** The newest lines of the audit log, the last one first. */
export function AuditLines() {
  const host = useHost();
  const filter = useSignal("");
  // Only when somebody wants to know: each time leaves a line in the log.
  const times = useSignal(0);
  const polled = usePolled((signal) => host.request("server/audit", { maxLines: LINES }, { signal }), {
    deps: [host, times.value],
  });
  const { value, error } = polled.value;
  if (value === undefined && isWithout(error))
    return (
      <EmptyState
        icon="lock"
        title="This server keeps no audit log"
        text={
          <>
            Start it with <code>--audit FILE</code>, and every connection, start and change has a line here.
          </>
        }
      />
    );
  if (value === undefined) return error === undefined ? null : <Failure error={error} />;
  const wanted = filter.value.toLowerCase();
  const lines = value.lines
    .filter((line) => line.toLowerCase().includes(wanted))
    .map((line) => readAuditLine(line))
    .reverse();
  return (
    <>
      {value.failing ? (
        <div class="system-failure">
          <ErrorBox
            text="The log cannot be written now."
            remedy="The server's own log says why; make room on its disk."
          />
        </div>
      ) : null}
      <div class="system-filter">
        <input
          type="search"
          aria-label="Filter lines"
          placeholder={`Filter the last ${value.lines.length} of ${value.written} lines`}
          value={filter.value}
          onInput={(event) => {
            filter.value = event.currentTarget.value;
          }}
        />
        <IconButton icon="refresh" label="Read it again" onClick={() => times.value++} />
        <span class="system-file code">{visibleText(value.file)}</span>
      </div>
      <table class="system-table">
        <thead>
          <tr>
            <th class="right">Line</th>
            <th>Time</th>
            <th>Who</th>
            <th>What</th>
            <th>Facts</th>
          </tr>
        </thead>
        <tbody>
          {lines.map((line) => (
            <Line key={line.number} line={line} />
          ))}
        </tbody>
      </table>
    </>
  );
}

function Line({ line }: { readonly line: AuditLine }) {
  return (
    <tr>
      <td class="right number">{line.number}</td>
      <td class="number">{visibleText(line.time)}</td>
      <td>{visibleText(line.who)}</td>
      <td>{visibleText(line.event)}</td>
      <td class="system-facts code">{visibleText(line.facts)}</td>
    </tr>
  );
}

function isWithout(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "UNSUPPORTED";
}
