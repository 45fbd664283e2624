import { useHost } from "../connection/use-host.ts";
import { Badge } from "../ui/badge.tsx";
import { formatSpan } from "../ui/format.ts";
import { visibleText } from "../../base/visible-text.ts";
import { Failure } from "./failure.tsx";
import { usePolled } from "../ui/use-polled.ts";

const EVERY_MS = 2000;

/** Who is connected, and how busy the server is. */
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
  if (value === undefined) return error === undefined ? null : <Failure error={error} />;
  const { status, sessions } = value;
  const now = Date.now();
  const version = host.environment?.serverVersion;
  return (
    <>
      <dl class="system-tiles">
        <Tile title="Up for" value={formatSpan(now - status.startedAtMs)} />
        <Tile title="Connections" value={status.connections} />
        <Tile title="Sessions" value={status.sessions} />
        <Tile title="Running processes" value={status.runningProcesses} />
        <Tile title="Process id" value={status.pid} />
        {version === undefined ? null : <Tile title="Version" value={version} />}
      </dl>
      <table class="system-table">
        <thead>
          <tr>
            <th>Client</th>
            <th>Owner</th>
            <th>State</th>
            <th class="right">Processes</th>
            <th class="right">Open for</th>
            <th>Label in the log</th>
          </tr>
        </thead>
        <tbody>
          {sessions.map((session) => (
            <tr key={session.label}>
              <td class="system-name">
                {visibleText(session.clientName) || "without a name"}{" "}
                {session.own ? <Badge kind="accent">this page</Badge> : null}
              </td>
              <td>{visibleText(session.owner)}</td>
              <td>
                {session.connected ? (
                  <Badge kind="good">connected</Badge>
                ) : (
                  <Badge kind="warn" title="Its client may come back and go on">
                    waiting
                  </Badge>
                )}
              </td>
              <td class="right number">{session.runningProcesses}</td>
              <td class="right number">{formatSpan(now - session.openedAtMs)}</td>
              <td class="code">{session.label}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function Tile({ title, value }: { readonly title: string; readonly value: string | number }) {
  return (
    <div>
      <dt>{title}</dt>
      <dd class="number">{value}</dd>
    </div>
  );
}
