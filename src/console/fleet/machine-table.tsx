import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { MenuProps } from "../ui/menu.tsx";
import { RowGrid } from "../ui/row-grid.tsx";
import { SortHead } from "../ui/sort-head.tsx";
import { type MachineColumn, type MachineSorting, nextMachineSorting } from "./arrange-machines.ts";
import type { MachineRow } from "./fleet-link.ts";
import type { Machine } from "./fleet-messages.ts";
import { MachineTableRow } from "./machine-row.tsx";

const ROW_PX = { wide: 44, narrow: 68 };
/** Ages are shown to the second. */
const CLOCK_MS = 1000;

const COLUMNS: readonly { readonly column: MachineColumn; readonly title: string }[] = [
  { column: "name", title: "Machine" },
  { column: "state", title: "State" },
  { column: "slots", title: "Running" },
  { column: "load", title: "Load" },
  { column: "version", title: "Version" },
  { column: "age", title: "Here for" },
];

export interface MachineTableProps {
  readonly rows: readonly MachineRow[];
  readonly sorting: Signal<MachineSorting>;
  readonly cursor: Signal<string | undefined>;
  /** Those that all machines in the list have. */
  readonly labels: ReadonlySet<string>;
  readonly onLabel: (label: string) => void;
  readonly onMenu: (machine: Machine, at: MenuProps["at"]) => void;
}

export function MachineTable({ rows, sorting, cursor, labels, onLabel, onMenu }: MachineTableProps) {
  const now = useSignal(Date.now());
  useEffect(() => {
    const clock = setInterval(() => {
      now.value = Date.now();
    }, CLOCK_MS);
    return () => clearInterval(clock);
  }, []);
  return (
    <RowGrid
      class="fleet-table"
      label="Machines"
      rows={rows}
      rowPx={ROW_PX}
      rowKey={({ machine }) => machine.id}
      cursor={cursor.value}
      currentId="machine-current"
      emptyText="No machine matches the filter."
      head={
        <>
          {COLUMNS.map((column) => (
            <SortHead key={column.column} next={nextMachineSorting} sorting={sorting} {...column} />
          ))}
          <span role="columnheader">Labels</span>
          <span role="columnheader" class="hidden-text">
            Actions
          </span>
        </>
      }
    >
      {(row, index) => (
        <MachineTableRow
          key={row.machine.id}
          row={row}
          index={index}
          now={now.value}
          isCurrent={row.machine.id === cursor.value}
          chosen={labels}
          onChoose={() => {
            cursor.value = row.machine.id;
          }}
          onLabel={onLabel}
          onMenu={onMenu}
        />
      )}
    </RowGrid>
  );
}
