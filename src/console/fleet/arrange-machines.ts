import { type ColumnSorting, hasWords } from "../ui/arrange-rows.ts";
import type { MachineRow } from "./fleet-link.ts";
import type { Machine } from "./fleet-messages.ts";

export type MachineColumn = "name" | "state" | "slots" | "load" | "version" | "age";

export type MachineSorting = ColumnSorting<MachineColumn>;

export const BY_NAME: MachineSorting = { column: "name", isDescending: false };

/** People look for large values in these. */
export const LARGEST_FIRST: readonly MachineColumn[] = ["load", "slots"];

const NAMES = new Intl.Collator("en", { numeric: true });

/** Labels as people write them, in their order. */
export function labelsOf({ labels }: Pick<Machine, "labels">): readonly string[] {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .sort();
}

export interface Arrangement {
  /** Words, each of which must occur in a machine's report. */
  readonly filter: string;
  /** All of these it must have: `zone=eu`. */
  readonly labels: ReadonlySet<string>;
  readonly sorting: MachineSorting;
}

/** The machines that match, in order. */
export function arrangeMachines(
  rows: readonly MachineRow[],
  { filter, labels, sorting }: Arrangement,
): readonly MachineRow[] {
  const compare = COMPARISONS[sorting.column];
  const direction = sorting.isDescending ? -1 : 1;
  return rows
    .filter(({ machine }) => matches(machine, filter, labels))
    .sort(
      ({ machine: one }, { machine: other }) =>
        direction * compare(one, other) || NAMES.compare(one.id, other.id),
    );
}

function matches(machine: Machine, filter: string, wanted: ReadonlySet<string>): boolean {
  if (filter.trim() === "" && wanted.size === 0) return true;
  const labels = labelsOf(machine);
  if (![...wanted].every((label) => labels.includes(label))) return false;
  return hasWords([machine.id, machine.state, machine.version ?? "", ...labels].join(" "), filter);
}

const COMPARISONS: Readonly<Record<MachineColumn, (one: Machine, other: Machine) => number>> = {
  name: (one, other) => NAMES.compare(one.id, other.id),
  state: (one, other) => STATE_ORDER[one.state] - STATE_ORDER[other.state],
  slots: (one, other) => one.running - other.running || other.free - one.free,
  load: (one, other) => one.load - other.load,
  version: (one, other) => NAMES.compare(one.version ?? "", other.version ?? ""),
  age: (one, other) => other.since - one.since,
};

/** In descending order, states that need attention come first. */
const STATE_ORDER: Readonly<Record<Machine["state"], number>> = { ready: 0, cordoned: 1, draining: 2 };
