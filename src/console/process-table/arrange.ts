import { commandLine } from "../ui/command-line.ts";
import type { ColumnSorting } from "../ui/sort-head.tsx";
import type { ProcessRow } from "../processes/process-history.ts";

export type SortColumn = "state" | "command" | "owner" | "age" | "cpu" | "memory" | "output";

export type Sorting = ColumnSorting<SortColumn>;

/** The youngest first. */
export const DEFAULT_SORTING: Sorting = { column: "age", isDescending: false };

/** The rows that have all words of the filter, running ones first. */
export function arrange(
  rows: readonly ProcessRow[],
  { filter, sorting }: { readonly filter: string; readonly sorting: Sorting },
): readonly ProcessRow[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const wanted = words.length === 0 ? [...rows] : rows.filter((row) => hasAll(row, words));
  const direction = sorting.isDescending ? -1 : 1;
  return wanted.sort(
    (one, other) =>
      Number(isRunning(other)) - Number(isRunning(one)) ||
      direction * compare(one, other, sorting.column) ||
      other.listed.startedAtMs - one.listed.startedAtMs ||
      (one.key < other.key ? -1 : 1),
  );
}

export function isRunning({ listed }: ProcessRow): boolean {
  return listed.state === "running";
}

/** A first click on a column shows what people look for in it. */
export function nextSorting(column: SortColumn, { column: last, isDescending }: Sorting): Sorting {
  if (column === last) return { column, isDescending: !isDescending };
  return { column, isDescending: column === "cpu" || column === "memory" || column === "output" };
}

function hasAll({ listed }: ProcessRow, words: readonly string[]): boolean {
  const { name, owner, label, argv, pid, state, signal, exitCode } = listed;
  const text = [name, owner, label, commandLine(argv), pid, state, signal, exitCode]
    .filter((part) => part !== null)
    .join(" ")
    .toLowerCase();
  return words.every((word) => text.includes(word));
}

function compare(one: ProcessRow, other: ProcessRow, column: SortColumn): number {
  switch (column) {
    case "state":
      return (
        text(one.listed.state, other.listed.state) ||
        (one.listed.exitCode ?? 0) - (other.listed.exitCode ?? 0)
      );
    case "command":
      return text(nameOf(one), nameOf(other));
    case "owner":
      return text(one.listed.owner ?? "", other.listed.owner ?? "");
    case "age":
      return sinceMs(other) - sinceMs(one);
    case "cpu":
      return (one.cpu ?? 0) - (other.cpu ?? 0);
    case "memory":
      return (one.listed.usage?.memoryBytes ?? 0) - (other.listed.usage?.memoryBytes ?? 0);
    case "output":
      return one.rate - other.rate || one.listed.outputBytes - other.listed.outputBytes;
  }
}

function nameOf({ listed }: ProcessRow): string {
  return listed.name ?? listed.label ?? commandLine(listed.argv);
}

/** When its state began. */
function sinceMs({ listed }: ProcessRow): number {
  return listed.endedAtMs ?? listed.startedAtMs;
}

function text(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
