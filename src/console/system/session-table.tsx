import type { Result } from "../../client/browser.ts";
import { Failure } from "../connection/failure.tsx";
import { useHost } from "../connection/use-host.ts";
import { Badge } from "../ui/badge.tsx";
import { formatDuration } from "../../base/amounts.ts";
import { type DataColumn, DataTable } from "../ui/data-table.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { usePolled } from "../ui/use-polled.ts";

const EVERY_MS = 2000;

type Session = Result<"server/sessions">["sessions"][number];

/** Connected clients, and the server's activity. */
export function SessionTable() {
  const host = useHost();
  const polled = usePolled(
    async (signal) => {
      const [status, { sessions }] = await Promise.all([
        host.request("server/status", null, { signal }),
        host.request("server/sessions", null, { signal }),
      ]);
      return { status, sessions };
    },
    { everyMs: EVERY_MS, deps: [host] },
  );
  const { value, error } = polled.value;
  if (value === undefined) return <Failure error={error} />;
  const { status, sessions } = value;
  const version = host.environment?.serverVersion;
  return (
    <>
      <dl class="system-tiles">
        <Tile title="Uptime" value={formatDuration(Date.now() - status.startedAtMs)} />
        <Tile title="Connections" value={status.connections} />
        <Tile title="Sessions" value={status.sessions} />
        <Tile title="Running processes" value={status.runningProcesses} />
        <Tile title="Process id" value={status.pid} />
        {version === undefined ? null : <Tile title="Version" value={version} />}
      </dl>
      <DataTable columns={columnsAt(Date.now())} rows={sessions} rowKey={({ label }) => label} />
    </>
  );
}

function columnsAt(now: number): readonly DataColumn<Session>[] {
  return [
    {
      title: "Client",
      class: "wraps",
      cell: ({ clientName, own }) => (
        <>
          {visibleText(clientName) || "unnamed"} {own ? <Badge kind="accent">this page</Badge> : null}
        </>
      ),
    },
    { title: "Owner", cell: ({ owner }) => visibleText(owner) },
    {
      title: "State",
      cell: ({ connected }) =>
        connected ? (
          <Badge kind="good">connected</Badge>
        ) : (
          <Badge kind="warn" title="Its client may still reconnect">
            waiting
          </Badge>
        ),
    },
    { title: "Processes", class: "right number", cell: ({ runningProcesses }) => runningProcesses },
    {
      title: "Age",
      class: "right number",
      cell: ({ openedAtMs }) => formatDuration(now - openedAtMs),
    },
    { title: "Log label", class: "code", cell: ({ label }) => label },
  ];
}

function Tile({ title, value }: { readonly title: string; readonly value: string | number }) {
  return (
    <div>
      <dt>{title}</dt>
      <dd class="number">{value}</dd>
    </div>
  );
}
