import type { ComponentChildren } from "preact";
import { Badge, type BadgeProps } from "../ui/badge.tsx";
import { IconButton } from "../ui/button.tsx";
import { formatSpan } from "../ui/format.ts";
import { Icon } from "../ui/icon.tsx";
import type { MenuProps } from "../ui/menu.tsx";
import { Sparkline } from "../ui/sparkline.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { labelsOf } from "./arrange-machines.ts";
import { HISTORY, type MachineRow } from "./fleet-link.ts";
import type { Machine } from "./fleet-messages.ts";
import { openMachine } from "./machine-actions.ts";
import { addressOf, type MachineAddress } from "./machine-address.ts";
import { countText, loadText, shareOf } from "./machine-text.ts";

/** Labels of a row. The title has the others. */
const SHOWN_LABELS = 6;
const TOLD_CHARACTERS = 1000;

const STATES: Readonly<Record<Machine["state"], { kind: BadgeProps["kind"]; title: string }>> = {
  ready: { kind: "good", title: "It gets new work" },
  cordoned: { kind: "warn", title: "It gets no new work, until it is uncordoned" },
  draining: { kind: "bad", title: "It is about to end, and starts nothing" },
};

export interface MachineTableRowProps {
  readonly row: MachineRow;
  readonly index: number;
  readonly now: number;
  readonly isCurrent: boolean;
  readonly chosen: ReadonlySet<string>;
  readonly onChoose: () => void;
  readonly onLabel: (label: string) => void;
  readonly onMenu: (machine: Machine, at: MenuProps["at"]) => void;
}

export function MachineTableRow({ row, index, now, isCurrent, chosen, ...on }: MachineTableRowProps) {
  const { machine, loads } = row;
  const { id, state, running, free, load, version = "", since } = machine;
  const name = visibleText(id);
  const { kind, title } = STATES[state];
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
      <span role="gridcell" class="name" title={name}>
        {name}
      </span>
      <span role="gridcell" class="state">
        <Badge {...(kind === undefined ? {} : { kind })} title={title}>
          {state}
        </Badge>
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
        <Sparkline values={loads} length={HISTORY} label="Load for each core, in the last minute" />
        <span>{loadText(load)}</span>
      </span>
      <span role="gridcell" class="version" title={visibleText(version)}>
        {visibleText(version)}
      </span>
      <span role="gridcell" class="age number" title={`Since ${new Date(since).toLocaleString()}`}>
        {formatSpan(now - since)}
      </span>
      <span role="gridcell" class="labels">
        <Labels machine={machine} chosen={chosen} onLabel={on.onLabel} />
      </span>
      <span role="gridcell" class="actions">
        <OpenLink id={id} view="console">
          Open<span class="hidden-text"> {name}</span>
        </OpenLink>
        <OpenLink id={id} view="terminals">
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

/** The tab that it opens gets a copy of this one's access, and gives it up when it goes on to another origin. */
function OpenLink({ children, ...address }: MachineAddress & { readonly children: ComponentChildren }) {
  return (
    <a class="button plain" href={addressOf(address)} target="_blank" rel="opener">
      <span>{children}</span>
    </a>
  );
}

function Labels({
  machine,
  chosen,
  onLabel,
}: {
  readonly machine: Machine;
  readonly chosen: ReadonlySet<string>;
  readonly onLabel: (label: string) => void;
}) {
  const labels = labelsOf(machine);
  const others = labels.slice(SHOWN_LABELS);
  return (
    <>
      {labels.slice(0, SHOWN_LABELS).map((label) => (
        <button
          key={label}
          class={`badge fleet-label${chosen.has(label) ? " accent" : ""}`}
          type="button"
          aria-pressed={chosen.has(label)}
          title={`Only machines with ${visibleText(label)}`}
          onClick={() => onLabel(label)}
        >
          {visibleText(label)}
        </button>
      ))}
      {others.length === 0 ? null : (
        <span class="fleet-more-labels" title={visibleText(others.join("  ").slice(0, TOLD_CHARACTERS))}>
          +{others.length}
        </span>
      )}
    </>
  );
}
