import { useEffect } from "preact/hooks";
import { Entering, Entrance } from "../connection/entrance.tsx";
import { serverLink } from "../connection/server-link.ts";
import { useCommands } from "../frame/commands.ts";
import { Banner, generalCommands, PageFrame } from "../frame/page-frame.tsx";
import { path } from "../frame/router.ts";
import { Toasts } from "../ui/toast.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { fleet } from "./fleet-link.ts";
import { machineAt } from "./machine-address.ts";
import { MachinesView } from "./machines-view.tsx";
import { Opening } from "./opening.tsx";

const VIEWS = [{ title: "Machines", icon: "machines", path: "/" }] as const;

/** The page of a fleet, whose addresses open its machines. */
export function FleetApp() {
  const machine = machineAt(path.value);
  return (
    <>
      {serverLink.state.value === "asking" ? (
        <Entrance fleet={visibleText(serverLink.server.value?.name ?? "")} />
      ) : machine !== undefined ? (
        <Opening key={machine.id} {...machine} />
      ) : fleet.rows.value === undefined ? (
        <Entering />
      ) : (
        <FleetFrame />
      )}
      <Toasts />
    </>
  );
}

function FleetFrame() {
  const name = visibleText(fleet.name.value);
  const isLost = serverLink.state.value !== "connected";
  useCommands(generalCommands);
  useEffect(() => {
    document.title = `${name} · Machines · exec-server`;
  }, [name]);
  return (
    <PageFrame views={VIEWS} where={name}>
      <Banner text={isLost ? goneText(name) : OUTDATED[fleet.nats.value]} mayConnect={isLost} />
      <MachinesView />
    </PageFrame>
  );
}

/** Why the page's data is outdated. */
const OUTDATED = {
  connected: undefined,
  recovering:
    "NATS cannot be reached. Reconnecting; the list shows the last known state, and processes on the machines keep running.",
  closed: "The connection to NATS is closed for good. Restart the command that serves this page.",
} as const;

function goneText(name: string): string {
  const command = `exec-server -H ${name} open`;
  return `The program that serves this page does not answer. If it has ended, start it again: ${command}`;
}
