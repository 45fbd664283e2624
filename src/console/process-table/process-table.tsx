import type { Signal } from "@preact/signals";
import type { MenuProps } from "../ui/menu.tsx";
import { RowGrid } from "../ui/row-grid.tsx";
import { SortHead } from "../ui/sort-head.tsx";
import { nextSorting, type SortColumn, type Sorting } from "./arrange.ts";
import type { ProcessRow } from "../processes/process-history.ts";
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

export function ProcessTable({ rows, sorting, cursor, selected, emptyText, ...actions }: ProcessTableProps) {
  const hasOwners = new Set(rows.map(({ listed }) => listed.owner)).size > 1;
  return (
    <RowGrid
      class={`proc-table${hasOwners ? " with-owners" : ""}`}
      label="Processes"
      rows={rows}
      rowPx={ROW_PX}
      rowKey={({ key }) => key}
      cursor={cursor.value}
      currentId="proc-current"
      isMultiselectable
      emptyText={emptyText}
      head={
        <>
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
        </>
      }
    >
      {(row, index) => (
        <TableRow
          key={row.key}
          row={row}
          index={index}
          isCurrent={row.key === cursor.value}
          isSelected={selected.has(row.key)}
          hasOwner={hasOwners}
          {...actions}
        />
      )}
    </RowGrid>
  );
}
