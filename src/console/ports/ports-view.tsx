import { visibleText } from "../../base/visible-text.ts";
import { Failure } from "../connection/failure.tsx";
import { useHost } from "../connection/use-host.ts";
import { inGroup, useCommands } from "../frame/commands.ts";
import { ViewFrame } from "../frame/view-frame.tsx";
import { addressOf, pathOf } from "../processes/process-address.ts";
import { Button } from "../ui/button.tsx";
import { type DataColumn, DataTable } from "../ui/data-table.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import { usePolled } from "../ui/use-polled.ts";
import { openPort, type Port } from "./open-port.ts";

const EVERY_MS = 2000;

/** Ports on which the user's processes listen. */
export default function PortsView() {
  const host = useHost();
  return (
    <ViewFrame title="Ports">
      {host.supports("process/ports") ? (
        <PortTable />
      ) : (
        <EmptyState icon="ports" title="Not on this server" text="This server does not report its ports." />
      )}
    </ViewFrame>
  );
}

function PortTable() {
  const host = useHost();
  const polled = usePolled(async (signal) => (await host.request("process/ports", null, { signal })).ports, {
    everyMs: EVERY_MS,
    deps: [host],
  });
  const { value: ports, error } = polled.value;
  useCommands(
    () =>
      inGroup(
        "Ports",
        (ports ?? []).map((port) => ({
          id: `port-${keyOf(port)}`,
          title: `Open port ${port.port} (${visibleText(port.program)})`,
          run: () => void openPort(port),
        })),
      ),
    [ports?.map(keyOf).join(" ")],
  );
  if (ports === undefined) return <Failure error={error} />;
  if (ports.length === 0)
    return (
      <EmptyState
        icon="ports"
        title="Nothing listens yet"
        text="Start a program that listens on a TCP port, such as a web server: it appears here, and you can open it in a new tab."
      />
    );
  return <DataTable columns={COLUMNS} rows={ports} rowKey={keyOf} />;
}

const COLUMNS: readonly DataColumn<Port>[] = [
  {
    title: "Port",
    class: "ports-port number",
    cell: (port) => port.port,
  },
  {
    title: "Program",
    cell: ({ program, pid }) => (
      <>
        {visibleText(program)} <span class="ports-pid number">{pid}</span>
      </>
    ),
  },
  { title: "Process", class: "ports-process", cell: (port) => <ProcessOf port={port} /> },
  { title: "Address", class: "code", cell: ({ host, port }) => addressText(host, port) },
  {
    title: "Preview",
    class: "ports-open",
    cell: (port) => (
      <Button title={`Open port ${port.port} in a new tab`} onClick={() => void openPort(port)}>
        Open<span class="hidden-text"> port {port.port}</span>
      </Button>
    ),
  },
];

/** What has started the program: a kept process has a page. */
function ProcessOf({ port }: { readonly port: Port }) {
  const address = addressOf(port);
  const text = visibleText(port.processId);
  return address === undefined ? <>{text}</> : <a href={pathOf(address, { tty: false })}>{text}</a>;
}

function addressText(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

function keyOf({ port, host, pid }: Port): string {
  return `${port}-${host}-${pid}`;
}
