import { type Signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { Badge, type BadgeProps } from "../ui/badge.tsx";
import { IconButton } from "../ui/button.tsx";
import { formatDuration } from "../../base/amounts.ts";
import { Icon } from "../ui/icon.tsx";
import type { MenuProps } from "../ui/menu.tsx";
import { RowGrid } from "../ui/row-grid.tsx";
import { SortHead } from "../ui/sort-head.tsx";
import { Sparkline } from "../ui/sparkline.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { labelsOf, LARGEST_FIRST, type MachineColumn, type MachineSorting } from "./arrange-machines.ts";
import { HISTORY, type MachineRow } from "./fleet-link.ts";
import type { Machine } from "./fleet-messages.ts";
import { openMachine } from "./machine-actions.ts";
import { addressOf, type MachineAddress } from "./machine-address.ts";
import { countText, loadText, shareOf } from "./machine-text.ts";

const ROW_PX = { wide: 44, narrow: 68 };
/** Ages are shown to the second. */
const CLOCK_MS = 1000;
/** Labels of a row. The title has the others. */
const SHOWN_LABELS = 6;
const TITLE_CHARACTERS = 1000;

const STATES: Readonly<Record<Machine["state"], Required<Pick<BadgeProps, "kind" | "title">>>> = {
  ready: { kind: "good", title: "It gets new work" },
  cordoned: { kind: "warn", title: "It gets no new work, until it is uncordoned" },
  draining: { kind: "bad", title: "It is shutting down, and starts nothing new" },
};

const COLUMNS: readonly { readonly column: MachineColumn; readonly title: string }[] = [
  { column: "name", title: "Machine" },
  { column: "state", title: "State" },
  { column: "slots", title: "Running" },
  { column: "load", title: "Load" },
  { column: "version", title: "Version" },
  { column: "age", title: "In fleet for" },
];

export interface MachineTableProps {
  readonly rows: readonly MachineRow[];
  readonly sorting: Signal<MachineSorting>;
  readonly cursor: Signal<string | undefined>;
  /** Labels that all machines in the list share. */
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
            <SortHead key={column.column} largestFirst={LARGEST_FIRST} sorting={sorting} {...column} />
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

interface MachineTableRowProps extends Pick<MachineTableProps, "onLabel" | "onMenu"> {
  readonly row: MachineRow;
  readonly index: number;
  readonly now: number;
  readonly isCurrent: boolean;
  /** Labels. */
  readonly chosen: ReadonlySet<string>;
  readonly onChoose: () => void;
}

function MachineTableRow({ row, index, now, isCurrent, chosen, ...on }: MachineTableRowProps) {
  const { machine, loads } = row;
  const { id, state, running, free, load, version = "", since } = machine;
  const name = visibleText(id);
  return (
    <div
      class={`row-grid-row fleet-row${isCurrent ? " current" : ""}`}
      role="row"
      id={isCurrent ? "machine-current" : undefined}
      aria-rowindex={index + 2}
      aria-selected={isCurrent}
      onClick={(event) => {
        if (!isControl(event.target)) on.onChoose();
      }}
      onDblClick={(event) => {
        if (!isControl(event.target)) openMachine(machine, "console");
      }}
      onContextMenu={(event) => {
        event.preventDefault();
        on.onMenu(machine, { x: event.clientX, y: event.clientY });
      }}
    >
      <span role="gridcell" class="name one-line" title={name}>
        {name}
      </span>
      <span role="gridcell" class="state">
        <Badge {...STATES[state]}>{state}</Badge>
      </span>
      <span role="gridcell" class="slots number" title={`${countText(free)} more are meant to run here`}>
        <span class="fleet-bar">
          <span style={{ width: `${shareOf(running, running + free)}%` }} />
        </span>
        <span>
          {countText(running)}
          <span class="fleet-of"> of {countText(running + free)}</span>
        </span>
      </span>
      <span role="gridcell" class={`load number${load > 1 ? " busy" : ""}`}>
        <Sparkline values={loads} length={HISTORY} label="Load per core, over the last minute" />
        <span>{loadText(load)}</span>
      </span>
      <span role="gridcell" class="version one-line" title={visibleText(version)}>
        {visibleText(version)}
      </span>
      <span role="gridcell" class="age number one-line" title={`Since ${new Date(since).toLocaleString()}`}>
        {formatDuration(now - since)}
      </span>
      <span role="gridcell" class="labels">
        <Labels row={row} chosen={chosen} onLabel={on.onLabel} />
      </span>
      <span role="gridcell" class="actions">
        <OpenLink id={id} view="console">
          Open<span class="hidden-text"> {name}</span>
        </OpenLink>
        <OpenLink id={id} view="terminal">
          <Icon name="terminal" />
          Terminal<span class="hidden-text"> of {name}</span>
        </OpenLink>
        <IconButton
          icon="more"
          label={`Actions for ${name}`}
          onClick={(event) => on.onMenu(machine, event.currentTarget as Element)}
        />
      </span>
    </div>
  );
}

function isControl(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("a, button") !== null;
}

/** The tab that it opens gets a copy of this one's access, and discards it when it navigates to another origin. */
function OpenLink({ children, ...address }: MachineAddress & { readonly children: ComponentChildren }) {
  return (
    <a class="button plain" href={addressOf(address)} target="_blank" rel="opener">
      <span>{children}</span>
    </a>
  );
}

function Labels({ row, chosen, onLabel }: Pick<MachineTableRowProps, "row" | "chosen" | "onLabel">) {
  const labels = labelsOf(row.machine);
  const others = labels.slice(SHOWN_LABELS);
  return (
    <>
      {labels.slice(0, SHOWN_LABELS).map((label) => (
        <button
          key={label}
          class={`badge fleet-label one-line${chosen.has(label) ? " accent" : ""}`}
          type="button"
          aria-pressed={chosen.has(label)}
          title={`Only machines with ${visibleText(label)}`}
          onClick={() => onLabel(label)}
        >
          {visibleText(label)}
        </button>
      ))}
      {others.length === 0 ? null : (
        <span class="fleet-more-labels" title={visibleText(others.join("  ").slice(0, TITLE_CHARACTERS))}>
          +{others.length}
        </span>
      )}
    </>
  );
}
