import { useEffect } from "preact/hooks";
import { Entering, Entrance } from "../connection/entrance.tsx";
import { serverLink } from "../connection/server-link.ts";
import { useCommands } from "../frame/commands.ts";
import { generalCommands } from "../frame/general-commands.ts";
import { KeySheet } from "../frame/key-sheet.tsx";
import { Palette } from "../frame/palette.tsx";
import { Rail } from "../frame/rail.tsx";
import { path } from "../frame/router.ts";
import { Toasts } from "../ui/toast.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { FleetBanner } from "./fleet-banner.tsx";
import { fleet } from "./fleet-link.ts";
import { machineAt } from "./machine-address.ts";
import { MachinesView } from "./machines-view.tsx";
import { Opening } from "./opening.tsx";

const VIEWS = [{ id: "machines", title: "Machines", icon: "machines", path: "/" }] as const;

/** The page of a fleet, whose addresses lead to its machines. */
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
  useCommands(generalCommands);
  useEffect(() => {
    document.title = `${name} · Machines · exec-server`;
  }, [name]);
  return (
    <div class="frame">
      <a class="skip" href="#view">
        Skip to the content
      </a>
      <Rail views={VIEWS} where={name} />
      <main class="frame-main" id="view" tabIndex={-1}>
        <FleetBanner />
        <MachinesView />
      </main>
      <Palette />
      <KeySheet />
    </div>
  );
}
