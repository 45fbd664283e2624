import { type Signal, useComputed, useSignal } from "@preact/signals";
import { inGroup, useCommands } from "../frame/commands.ts";
import { ViewFrame } from "../frame/view-frame.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import { IconButton } from "../ui/button.tsx";
import { useGridCursor } from "../ui/grid-cursor.ts";
import { GridFilter } from "../ui/grid-filter.tsx";
import { Menu, type MenuProps } from "../ui/menu.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { arrangeMachines, BY_NAME } from "./arrange-machines.ts";
import { fleet, type MachineRow } from "./fleet-link.ts";
import type { Machine } from "./fleet-messages.ts";
import { menuOf, mayCordon, openMachine, switchCordon } from "./machine-actions.ts";
import { MachineTable } from "./machine-table.tsx";
import { countText } from "./machine-text.ts";

interface ShownMenu {
  readonly machine: Machine;
  readonly at: MenuProps["at"];
}

/** All machines of the fleet, and what can be done with them. */
export function MachinesView() {
  const filter = useSignal("");
  const labels = useSignal<ReadonlySet<string>>(new Set());
  const sorting = useSignal(BY_NAME);
  const menu = useSignal<ShownMenu | undefined>(undefined);
  const rows = fleet.rows.value ?? [];
  const shown = useComputed(() =>
    arrangeMachines(fleet.rows.value ?? [], {
      filter: filter.value,
      labels: labels.value,
      sorting: sorting.value,
    }),
  );
  const { cursor, current, filterField, commands } = useGridCursor(shown, ({ machine }) => machine.id);
  const withCurrent = (act: (machine: Machine) => void): void => {
    const row = current();
    if (row !== undefined) act(row.machine);
  };
  const toggleLabel = (label: string): void => {
    const chosen = new Set(labels.value);
    if (!chosen.delete(label)) chosen.add(label);
    labels.value = chosen;
  };
  useCommands(() =>
    inGroup("Machines", [
      ...commands("machine", "machine"),
      {
        id: "machine-open",
        title: "Open the machine's console in a new tab",
        keys: "Enter",
        run: () => withCurrent((machine) => openMachine(machine, "console")),
      },
      {
        id: "machine-terminal",
        title: "Open the machine's terminals in a new tab",
        keys: "t",
        run: () => withCurrent((machine) => openMachine(machine, "terminal")),
      },
      {
        id: "machine-cordon",
        title: "Cordon the machine, or uncordon it",
        keys: "c",
        run: () => withCurrent((machine) => mayCordon(machine) && void switchCordon(machine)),
      },
    ]),
  );
  return (
    <ViewFrame
      title={
        <>
          {visibleText(fleet.name.value)}
          <span class="view-count number">{summary(rows)}</span>
        </>
      }
      actions={<GridFilter field={filterField} label="Filter the machines" filter={filter} />}
    >
      <p class="hidden-text" role="status">
        {fleet.news.value}
      </p>
      <div class="view-column">
        <ChosenLabels labels={labels} onToggle={toggleLabel} />
        {rows.length === 0 ? (
          <NoMachines />
        ) : (
          <MachineTable
            rows={shown.value}
            sorting={sorting}
            cursor={cursor}
            labels={labels.value}
            onLabel={toggleLabel}
            onMenu={(machine, at) => {
              cursor.value = machine.id;
              menu.value = { machine, at };
            }}
          />
        )}
      </div>
      {menu.value === undefined ? null : (
        <Menu
          key={menu.value.machine.id}
          label="Actions"
          items={menuOf(menu.value.machine)}
          at={menu.value.at}
          onClose={() => {
            menu.value = undefined;
          }}
        />
      )}
    </ViewFrame>
  );
}

function summary(rows: readonly MachineRow[]): string {
  const sum = (of: (machine: Machine) => number): string =>
    countText(rows.reduce((all, { machine }) => all + of(machine), 0));
  const machines = rows.length === 1 ? "1 machine" : `${rows.length} machines`;
  return `${machines}, ${sum(({ running }) => running)} running, ${sum(({ free }) => free)} free`;
}

function ChosenLabels({
  labels,
  onToggle,
}: {
  readonly labels: Signal<ReadonlySet<string>>;
  readonly onToggle: (label: string) => void;
}) {
  if (labels.value.size === 0) return null;
  return (
    <div class="fleet-chosen" role="group" aria-label="Chosen labels">
      <span>Only with</span>
      {[...labels.value].map((label) => (
        <span key={label} class="badge accent fleet-chosen-label">
          <span class="one-line">{visibleText(label)}</span>
          <IconButton
            icon="close"
            label={`Also show machines without ${visibleText(label)}`}
            onClick={() => onToggle(label)}
          />
        </span>
      ))}
    </div>
  );
}

function NoMachines() {
  return (
    <EmptyState
      icon="machines"
      title="No machines yet"
      text="Start a server on a machine with the command below, and it appears here at once. It needs a token, like every server in a fleet."
    >
      <code class="fleet-join">exec-server serve --fleet {visibleText(fleet.servers.value)} --id NAME</code>
    </EmptyState>
  );
}
