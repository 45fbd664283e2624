import { type ColumnSorting, hasWords } from "../ui/arrange-rows.ts";
import type { EndedRow } from "./ledger-reader.ts";

export type RowColumn = "row" | "id" | "state" | "attempts" | "time" | "result";
export type RowSorting = ColumnSorting<RowColumn>;

/** Those that failed first. */
export const DEFAULT_SORTING: RowSorting = { column: "state", isDescending: false };

/** People look for large values in these. */
export const LARGEST_FIRST: readonly RowColumn[] = ["attempts", "time"];

/** The rows that have all words of the filter. Of two that are equal, the first one in the file comes first. */
export function arrangeRows(
  rows: readonly EndedRow[],
  { filter, sorting }: { readonly filter: string; readonly sorting: RowSorting },
): readonly EndedRow[] {
  const compare = COMPARISONS[sorting.column];
  const direction = sorting.isDescending ? -1 : 1;
  return rows
    .filter((row) => filter.trim() === "" || hasWords(searchedText(row), filter))
    .sort((one, other) => direction * compare(one, other) || one.index - other.index);
}

/** What a list shows of a row's outcome: its result, or why there is none. */
export function outcomeText({ error, result }: EndedRow): string {
  return error === "" ? result : error;
}

function searchedText(row: EndedRow): string {
  return `${row.index + 1} ${row.id} ${row.status} ${row.host} ${row.error} ${row.result}`;
}

const COMPARISONS: Readonly<Record<RowColumn, (one: EndedRow, other: EndedRow) => number>> = {
  row: (one, other) => one.index - other.index,
  id: (one, other) => text(one.id, other.id),
  state: (one, other) => rank(one) - rank(other) || text(one.status, other.status),
  attempts: (one, other) => one.attempts - other.attempts,
  time: (one, other) => (one.durationMs ?? 0) - (other.durationMs ?? 0),
  result: (one, other) => text(outcomeText(one), outcomeText(other)),
};

function rank({ status }: EndedRow): number {
  return status === "completed" ? 1 : 0;
}

/** Numbers by their value: `row-2` is before `row-10`. */
const { compare: text } = new Intl.Collator("en", { numeric: true });
