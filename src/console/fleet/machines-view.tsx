import { type Signal, useComputed, useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { useCommands } from "../frame/commands.ts";
import { ViewFrame } from "../frame/view-frame.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import { IconButton } from "../ui/button.tsx";
import { GridFilter } from "../ui/grid-filter.tsx";
import { Menu, type MenuProps } from "../ui/menu.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { arrangeMachines, BY_NAME } from "./arrange-machines.ts";
import { fleet, type MachineRow } from "./fleet-link.ts";
import type { Machine } from "./fleet-messages.ts";
import { menuOf, mayCordon, openMachine, setCordoned } from "./machine-actions.ts";
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
  const cursor = useSignal<string | undefined>(undefined);
  const menu = useSignal<ShownMenu | undefined>(undefined);
  const filterField = useRef<HTMLInputElement>(null);
  const rows = fleet.rows.value ?? [];
  const shown = useComputed(() =>
    arrangeMachines(fleet.rows.value ?? [], {
      filter: filter.value,
      labels: labels.value,
      sorting: sorting.value,
    }),
  );
  const withCurrent = (act: (machine: Machine) => void): void => {
    const row = shown.value.find(({ machine }) => machine.id === cursor.value);
    if (row !== undefined) act(row.machine);
  };
  const move = (by: number): void => {
    const index = shown.value.findIndex(({ machine }) => machine.id === cursor.value);
    const next = index < 0 ? 0 : Math.min(shown.value.length - 1, Math.max(0, index + by));
    cursor.value = shown.value[next]?.machine.id;
  };
  const toggleLabel = (label: string): void => {
    const chosen = new Set(labels.value);
    if (!chosen.delete(label)) chosen.add(label);
    labels.value = chosen;
  };
  const group = "Machines";
  useCommands(() => [
    {
      id: "machine-filter",
      title: "Filter the list",
      group,
      keys: "/",
      run: () => filterField.current?.focus(),
    },
    { id: "machine-next", title: "Next machine", group, keys: "ArrowDown", run: () => move(1) },
    { id: "machine-next-j", title: "Next machine", group, keys: "j", run: () => move(1) },
    { id: "machine-previous", title: "Previous machine", group, keys: "ArrowUp", run: () => move(-1) },
    { id: "machine-previous-k", title: "Previous machine", group, keys: "k", run: () => move(-1) },
    {
      id: "machine-open",
      title: "Open the console of the machine, in a tab of its own",
      group,
      keys: "Enter",
      run: () => withCurrent((machine) => openMachine(machine, "console")),
    },
    {
      id: "machine-terminal",
      title: "Open the terminals of the machine, in a tab of their own",
      group,
      keys: "t",
      run: () => withCurrent((machine) => openMachine(machine, "terminals")),
    },
    {
      id: "machine-cordon",
      title: "Cordon the machine, or uncordon it",
      group,
      keys: "c",
      run: () =>
        withCurrent((machine) => {
          if (mayCordon(machine)) void setCordoned(machine, machine.state !== "cordoned");
        }),
    },
  ]);
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
          <span>{visibleText(label)}</span>
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
      title="No machine is here yet"
      text="Start a server on a machine with the command below, and it is listed here at once. It asks for a token, as every server of a fleet."
    >
      <code class="fleet-join">exec-server serve --fleet {visibleText(fleet.servers.value)} --id NAME</code>
    </EmptyState>
  );
}
