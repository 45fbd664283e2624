import type { DetailedEntry } from "../../client/browser.ts";

/** What is in a directory. Lists of very large directories have names and kinds only. */
export interface Entry extends Pick<DetailedEntry, "name" | "kind"> {
  readonly size?: number | undefined;
  readonly mode?: number | undefined;
  readonly modified?: Date | undefined;
}

export type SortColumn = "name" | "size" | "modified";

export interface Order {
  readonly column: SortColumn;
  readonly isDescending: boolean;
}

export interface Choice {
  readonly order: Order;
  readonly showsHidden: boolean;
  /** Names must contain it, in any case. */
  readonly filter: string;
}

const byName = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

/** What is listed, in its order: directories first, then by the chosen column, then by name. */
export function chooseEntries(entries: readonly Entry[], choice: Choice): readonly Entry[] {
  const wanted = choice.filter.toLowerCase();
  const shown = entries.filter(
    ({ name }) =>
      (choice.showsHidden || !name.startsWith(".")) && (wanted === "" || name.toLowerCase().includes(wanted)),
  );
  const { column, isDescending } = choice.order;
  const sign = isDescending ? -1 : 1;
  return shown.sort(
    (one, other) =>
      Number(other.kind === "directory") - Number(one.kind === "directory") ||
      sign * compare(one, other, column) ||
      compareNames(one.name, other.name),
  );
}

function compare(one: Entry, other: Entry, column: SortColumn): number {
  if (column === "size") return sizeOf(one) - sizeOf(other);
  if (column === "modified") return timeOf(one) - timeOf(other);
  return compareNames(one.name, other.name);
}

/** Names that differ only in case or accents have an order as well. */
function compareNames(one: string, other: string): number {
  return byName.compare(one, other) || (one < other ? -1 : one > other ? 1 : 0);
}

function sizeOf({ size = 0 }: Entry): number {
  return size;
}

function timeOf({ modified }: Entry): number {
  return modified?.getTime() ?? 0;
}

/** The order after a click on a column: the other way round, or that column as people want it first. */
export function orderBy(current: Order, column: SortColumn): Order {
  if (current.column === column) return { column, isDescending: !current.isDescending };
  return { column, isDescending: column !== "name" };
}
