import type { DetailedEntry } from "../../client/browser.ts";
import type { ColumnSorting } from "../ui/arrange-rows.ts";

/** An entry of a directory. Lists of very large directories have names and kinds only. */
export interface Entry extends Pick<DetailedEntry, "name" | "kind" | "special"> {
  readonly size?: number | undefined;
  readonly mode?: number | undefined;
  readonly modified?: Date | undefined;
}

export type SortColumn = "name" | "size" | "modified";

export type Order = ColumnSorting<SortColumn>;

/** Columns that sort descending first. */
export const LARGEST_FIRST: readonly SortColumn[] = ["size", "modified"];

export interface Choice {
  readonly order: Order;
  readonly showsHidden: boolean;
  /** Names must contain it, in any case. */
  readonly filter: string;
}

const byName = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

/** The listed entries in order: directories first, then by the chosen column, then by name. */
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
  if (column === "size") return (one.size ?? 0) - (other.size ?? 0);
  if (column === "modified") return (one.modified?.getTime() ?? 0) - (other.modified?.getTime() ?? 0);
  return compareNames(one.name, other.name);
}

/** Names that differ only in case or accents have an order as well. */
function compareNames(one: string, other: string): number {
  return byName.compare(one, other) || (one < other ? -1 : one > other ? 1 : 0);
}
