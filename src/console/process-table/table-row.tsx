import type { ListedProcess } from "../../client/browser.ts";
import { isAllowed } from "../connection/server-link.ts";
import { commandLine, shortCommand } from "../ui/command-line.ts";
import { formatBytes, formatPercent, formatSpan } from "../ui/format.ts";
import { IconButton } from "../ui/button.tsx";
import type { MenuProps } from "../ui/menu.tsx";
import { Sparkline } from "../ui/sparkline.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { addressOf, pathOf } from "../processes/process-address.ts";
import { HISTORY, type ProcessRow } from "../processes/process-history.ts";
import { serverNow } from "../processes/process-list.ts";
import { ProcessState } from "../processes/process-state.tsx";

export interface TableRowProps {
  readonly row: ProcessRow;
  readonly index: number;
  readonly isCurrent: boolean;
  readonly isSelected: boolean;
  readonly hasOwner: boolean;
  readonly onToggle: (key: string) => void;
  readonly onOpen: (row: ProcessRow) => void;
  readonly onMenu: (row: ProcessRow, at: MenuProps["at"]) => void;
}

export function TableRow({ row, index, isCurrent, isSelected, hasOwner, ...on }: TableRowProps) {
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
        <span role="gridcell" class="owner">
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
        {usage === undefined ? "" : formatBytes(usage.memoryBytes)}
      </span>
      <span role="gridcell" class="output" title={`${formatBytes(outputBytes)} of output`}>
        {listed.state === "running" ? (
          <>
            <Sparkline
              values={rates}
              length={HISTORY}
              label={`${formatBytes(Math.round(rate))} of output in a second`}
            />
            <span class="number proc-rate">{rate < 1 ? "" : `${formatBytes(Math.round(rate))}/s`}</span>
          </>
        ) : (
          <span class="number proc-rate">{formatBytes(outputBytes)}</span>
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
        <span class="proc-name">{title}</span>
      ) : (
        <a class="proc-name" href={pathOf(address, listed)} tabIndex={-1}>
          {title}
        </a>
      )}
      {title === command ? null : (
        <code class="proc-command" title={visibleText(cut(commandLine(listed.argv), TOLD_CHARACTERS))}>
          {command}
        </code>
      )}
    </>
  );
}

/** A command may be as long as the machine allows, a row is not. */
const SHOWN_CHARACTERS = 400;
const TOLD_CHARACTERS = 4000;

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

function titleText({ name, label, argv }: ListedProcess): string {
  return visibleText(cut(name ?? label ?? shortCommand(argv), SHOWN_CHARACTERS));
}

function ageText({ startedAtMs, endedAtMs }: ListedProcess): string {
  const span = formatSpan(serverNow() - (endedAtMs ?? startedAtMs));
  return endedAtMs === undefined ? span : `${span} ago`;
}
