import type { Signal } from "@preact/signals";
import type { ListedProcess } from "../../client/browser.ts";
import { isAllowed } from "../connection/server-link.ts";
import { IconButton } from "../ui/button.tsx";
import { commandLine, shortCommand } from "../ui/command-line.ts";
import { formatDuration, formatSize } from "../../base/amounts.ts";
import { formatPercent } from "../ui/format.ts";
import type { MenuProps } from "../ui/menu.tsx";
import { RowGrid } from "../ui/row-grid.tsx";
import { SortHead } from "../ui/sort-head.tsx";
import { Sparkline } from "../ui/sparkline.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { addressOf, pathOf } from "../processes/process-address.ts";
import { HISTORY, type ProcessRow } from "../processes/process-history.ts";
import { serverNow } from "../processes/process-list.ts";
import { ProcessState } from "../processes/process-state.tsx";
import { LARGEST_FIRST, type SortColumn, type Sorting } from "./arrange.ts";

const ROW_PX = { wide: 36, narrow: 66 };

const COLUMNS: readonly { readonly column: SortColumn; readonly title: string; readonly isNumber?: true }[] =
  [
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
                class={`proc-head-cell${isNumber ? " right" : ""}`}
                largestFirst={LARGEST_FIRST}
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

interface TableRowProps extends Pick<ProcessTableProps, "onToggle" | "onOpen" | "onMenu"> {
  readonly row: ProcessRow;
  readonly index: number;
  readonly isCurrent: boolean;
  readonly isSelected: boolean;
  readonly hasOwner: boolean;
}

function TableRow({ row, index, isCurrent, isSelected, hasOwner, ...on }: TableRowProps) {
  const { listed, cpu, rate, rates } = row;
  const { usage, outputBytes } = listed;
  return (
    <div
      class={`row-grid-row proc-row${isCurrent ? " current" : ""}${listed.state === "running" ? "" : " over"}`}
      role="row"
      id={isCurrent ? "proc-current" : undefined}
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      onClick={(event) => {
        const isControl = event.target instanceof Element && event.target.closest("a, button, input, label");
        if (!isControl && String(getSelection()) === "") on.onOpen(row);
      }}
      onContextMenu={(event) => {
        event.preventDefault();
        on.onMenu(row, { x: event.clientX, y: event.clientY });
      }}
    >
      <span role="gridcell" class="proc-check">
        {isAllowed("control") ? (
          <input
            type="checkbox"
            tabIndex={-1}
            aria-label={`Select ${titleText(listed)}`}
            checked={isSelected}
            onChange={() => on.onToggle(row.key)}
          />
        ) : null}
      </span>
      <span role="gridcell" class="state">
        <ProcessState listed={listed} />
      </span>
      <span role="gridcell" class="command">
        <ProcessName listed={listed} />
      </span>
      {hasOwner ? (
        <span role="gridcell" class="owner one-line">
          {visibleText(listed.owner ?? (listed.own ? "this page" : "another connection"))}
        </span>
      ) : null}
      <span role="gridcell" class="age number" title={new Date(listed.startedAtMs).toLocaleString()}>
        {ageText(listed)}
      </span>
      <span role="gridcell" class="cpu number">
        {cpu === undefined ? "" : formatPercent(cpu)}
      </span>
      <span role="gridcell" class="memory number">
        {usage === undefined ? "" : formatSize(usage.memoryBytes)}
      </span>
      <span role="gridcell" class="output" title={`${formatSize(outputBytes)} of output`}>
        {listed.state === "running" ? (
          <>
            <Sparkline
              values={rates}
              length={HISTORY}
              label={`${formatSize(Math.round(rate))} of output per second`}
            />
            <span class="number proc-rate">{rate < 1 ? "" : `${formatSize(Math.round(rate))}/s`}</span>
          </>
        ) : (
          <span class="number proc-rate">{formatSize(outputBytes)}</span>
        )}
      </span>
      <span role="gridcell" class="proc-more">
        <IconButton
          icon="more"
          label={`Actions for ${titleText(listed)}`}
          onClick={(event) => on.onMenu(row, event.currentTarget as Element)}
        />
      </span>
    </div>
  );
}

function ProcessName({ listed }: { readonly listed: ListedProcess }) {
  const address = addressOf(listed);
  const title = titleText(listed);
  const command = visibleText(cut(shortCommand(listed.argv), SHOWN_CHARACTERS));
  return (
    <>
      {address === undefined ? (
        <span class="proc-name one-line">{title}</span>
      ) : (
        <a class="proc-name one-line" href={pathOf(address, listed)} tabIndex={-1}>
          {title}
        </a>
      )}
      {title === command ? null : (
        <code
          class="proc-command one-line"
          title={visibleText(cut(commandLine(listed.argv), TITLE_CHARACTERS))}
        >
          {command}
        </code>
      )}
    </>
  );
}

/** A command may be as long as the machine allows, a row is not. */
const SHOWN_CHARACTERS = 400;
const TITLE_CHARACTERS = 4000;

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

function titleText({ name, label, argv }: ListedProcess): string {
  return visibleText(cut(name ?? label ?? shortCommand(argv), SHOWN_CHARACTERS));
}

function ageText({ startedAtMs, endedAtMs }: ListedProcess): string {
  const span = formatDuration(serverNow() - (endedAtMs ?? startedAtMs));
  return endedAtMs === undefined ? span : `${span} ago`;
}
