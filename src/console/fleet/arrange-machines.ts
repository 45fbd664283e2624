import type { ColumnSorting } from "../ui/sort-head.tsx";
import type { MachineRow } from "./fleet-link.ts";
import type { Machine } from "./fleet-messages.ts";

export type MachineColumn = "name" | "state" | "slots" | "load" | "version" | "age";

export type MachineSorting = ColumnSorting<MachineColumn>;

export const BY_NAME: MachineSorting = { column: "name", isDescending: false };

const NAMES = new Intl.Collator("en", { numeric: true });

/** Labels as people write them, in their order. */
export function labelsOf({ labels }: Pick<Machine, "labels">): readonly string[] {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .sort();
}

export interface Arrangement {
  /** Words, each of which must be somewhere in what a machine reports. */
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
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const direction = sorting.isDescending ? -1 : 1;
  return rows
    .filter(({ machine }) => matches(machine, words, labels))
    .sort(
      ({ machine: one }, { machine: other }) =>
        direction * compare(one, other, sorting.column) || NAMES.compare(one.id, other.id),
    );
}

/** A first click on a column shows what people look for in it. */
export function nextMachineSorting(
  column: MachineColumn,
  { column: last, isDescending }: MachineSorting,
): MachineSorting {
  if (column === last) return { column, isDescending: !isDescending };
  return { column, isDescending: column === "load" || column === "slots" };
}

function matches(machine: Machine, words: readonly string[], wanted: ReadonlySet<string>): boolean {
  if (words.length === 0 && wanted.size === 0) return true;
  const labels = labelsOf(machine);
  if (![...wanted].every((label) => labels.includes(label))) return false;
  const text = [machine.id, machine.state, machine.version ?? "", ...labels].join(" ").toLowerCase();
  return words.every((word) => text.includes(word));
}

function compare(one: Machine, other: Machine, column: MachineColumn): number {
  switch (column) {
    case "name":
      return NAMES.compare(one.id, other.id);
    case "state":
      return STATE_ORDER[one.state] - STATE_ORDER[other.state];
    case "slots":
      return one.running - other.running || other.free - one.free;
    case "load":
      return one.load - other.load;
    case "version":
      return NAMES.compare(one.version ?? "", other.version ?? "");
    case "age":
      return other.since - one.since;
  }
}

/** What needs attention first, when the order is turned. */
const STATE_ORDER: Readonly<Record<Machine["state"], number>> = { ready: 0, cordoned: 1, draining: 2 };
