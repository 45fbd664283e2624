import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { MenuProps } from "../ui/menu.tsx";
import { isNarrow } from "../ui/narrow.ts";
import { rowWindow, scrollTo } from "../ui/row-window.ts";
import { SortHead } from "../ui/sort-head.tsx";
import { useRowView } from "../ui/use-row-view.ts";
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

/** Draws only the rows that are visible: a fleet may have thousands. */
export function MachineTable({ rows, sorting, cursor, labels, onLabel, onMenu }: MachineTableProps) {
  const body = useRef<HTMLDivElement>(null);
  const view = useRowView(body);
  const now = useSignal(Date.now());
  const rowPx = isNarrow.value ? ROW_PX.narrow : ROW_PX.wide;
  useEffect(() => {
    const clock = setInterval(() => {
      now.value = Date.now();
    }, CLOCK_MS);
    return () => clearInterval(clock);
  }, []);
  const index = rows.findIndex(({ machine }) => machine.id === cursor.value);
  useLayoutEffect(() => {
    if (index >= 0 && body.current !== null) body.current.scrollTop = scrollTo(index, view.peek(), rowPx);
  }, [cursor.value]);
  const { start, end } = rowWindow(view.value, rowPx, rows.length);
  return (
    <div
      class="fleet-table"
      role="grid"
      aria-label="Machines"
      aria-rowcount={rows.length + 1}
      tabIndex={0}
      aria-activedescendant={index < start || index >= end ? undefined : "machine-current"}
    >
      <div class="fleet-head" role="row" aria-rowindex={1}>
        {COLUMNS.map((column) => (
          <SortHead key={column.column} next={nextMachineSorting} sorting={sorting} {...column} />
        ))}
        <span role="columnheader">Labels</span>
        <span role="columnheader" class="hidden-text">
          Actions
        </span>
      </div>
      <div class="fleet-body" ref={body}>
        {rows.length === 0 ? <p class="fleet-none">No machine matches the filter.</p> : null}
        <div class="fleet-rows" style={{ height: `${rows.length * rowPx}px` }}>
          <div style={{ transform: `translateY(${start * rowPx}px)` }}>
            {rows.slice(start, end).map((row, offset) => (
              <MachineTableRow
                key={row.machine.id}
                row={row}
                index={start + offset}
                now={now.value}
                isCurrent={row.machine.id === cursor.value}
                chosen={labels}
                onChoose={() => {
                  cursor.value = row.machine.id;
                }}
                onLabel={onLabel}
                onMenu={onMenu}
              />
            ))}
          </div>
        </div>
      </div>
    </div>
  );
}
