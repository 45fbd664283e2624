import type { Signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { MenuProps } from "../ui/menu.tsx";
import { isNarrow } from "../ui/narrow.ts";
import { rowWindow, scrollTo } from "../ui/row-window.ts";
import { SortHead } from "../ui/sort-head.tsx";
import { useRowView } from "../ui/use-row-view.ts";
import { nextSorting, type SortColumn, type Sorting } from "./arrange.ts";
import type { ProcessRow } from "./process-history.ts";
import { TableRow } from "./table-row.tsx";

const ROW_PX = { wide: 36, narrow: 66 };

const COLUMNS: readonly {
  readonly column: SortColumn;
  readonly title: string;
  readonly isNumber?: boolean | undefined;
}[] = [
  { column: "state", title: "State" },
  { column: "command", title: "Process" },
  { column: "owner", title: "Owner" },
  { column: "age", title: "Age", isNumber: true },
  { column: "cpu", title: "CPU %", isNumber: true },
  { column: "memory", title: "Memory", isNumber: true },
  { column: "output", title: "Output" },
];

export interface ProcessTableProps {
  readonly rows: readonly ProcessRow[];
  readonly sorting: Signal<Sorting>;
  readonly cursor: Signal<string | undefined>;
  readonly selected: ReadonlySet<string>;
  readonly onToggle: (key: string) => void;
  readonly onOpen: (row: ProcessRow) => void;
  readonly onMenu: (row: ProcessRow, at: MenuProps["at"]) => void;
  readonly emptyText: string;
}

/** Draws only the rows that are visible: there may be thousands. */
export function ProcessTable({ rows, sorting, cursor, selected, emptyText, ...actions }: ProcessTableProps) {
  const body = useRef<HTMLDivElement>(null);
  const view = useRowView(body);
  const rowPx = isNarrow.value ? ROW_PX.narrow : ROW_PX.wide;
  const hasOwners = new Set(rows.map(({ listed }) => listed.owner)).size > 1;
  const index = rows.findIndex(({ key }) => key === cursor.value);
  useLayoutEffect(() => {
    if (index >= 0 && body.current !== null) body.current.scrollTop = scrollTo(index, view.peek(), rowPx);
  }, [cursor.value]);
  const { start, end } = rowWindow(view.value, rowPx, rows.length);
  return (
    <div
      class={`proc-table${hasOwners ? " with-owners" : ""}`}
      role="grid"
      aria-label="Processes"
      aria-rowcount={rows.length + 1}
      aria-multiselectable="true"
      tabIndex={0}
      aria-activedescendant={index < start || index >= end ? undefined : "proc-current"}
    >
      <div class="proc-head" role="row" aria-rowindex={1}>
        <span role="columnheader" class="hidden-text">
          Selected
        </span>
        {COLUMNS.filter(({ column }) => hasOwners || column !== "owner").map(
          ({ column, title, isNumber }) => (
            <SortHead
              key={column}
              class={`proc-head-cell${isNumber === true ? " right" : ""}`}
              next={nextSorting}
              {...{ column, title, sorting }}
            />
          ),
        )}
        <span role="columnheader" class="hidden-text">
          Actions
        </span>
      </div>
      <div class="proc-body" ref={body}>
        {rows.length === 0 ? <p class="proc-none">{emptyText}</p> : null}
        <div class="proc-rows" style={{ height: `${rows.length * rowPx}px` }}>
          <div style={{ transform: `translateY(${start * rowPx}px)` }}>
            {rows.slice(start, end).map((row, offset) => (
              <TableRow
                key={row.key}
                row={row}
                index={start + offset}
                isCurrent={row.key === cursor.value}
                isSelected={selected.has(row.key)}
                hasOwner={hasOwners}
                {...actions}
              />
            ))}
          </div>
        </div>
      </div>
    </div>
  );
}
