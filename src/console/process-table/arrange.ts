import { type ColumnSorting, hasWords } from "../ui/arrange-rows.ts";
import { commandLine } from "../ui/command-line.ts";
import type { ProcessRow } from "../processes/process-history.ts";

export type SortColumn = "state" | "command" | "owner" | "age" | "cpu" | "memory" | "output";

export type Sorting = ColumnSorting<SortColumn>;

/** The youngest first. */
export const DEFAULT_SORTING: Sorting = { column: "age", isDescending: false };

/** People look for large values in these. */
export const LARGEST_FIRST: readonly SortColumn[] = ["cpu", "memory", "output"];

/** The rows that have all words of the filter, running ones first. */
export function arrange(
  rows: readonly ProcessRow[],
  { filter, sorting }: { readonly filter: string; readonly sorting: Sorting },
): readonly ProcessRow[] {
  const compare = COMPARISONS[sorting.column];
  const direction = sorting.isDescending ? -1 : 1;
  return rows
    .filter((row) => filter.trim() === "" || hasWords(searchedText(row), filter))
    .sort(
      (one, other) =>
        Number(isRunning(other)) - Number(isRunning(one)) ||
        direction * compare(one, other) ||
        other.listed.startedAtMs - one.listed.startedAtMs ||
        (one.key < other.key ? -1 : 1),
    );
}

export function isRunning({ listed }: ProcessRow): boolean {
  return listed.state === "running";
}

function searchedText({ listed }: ProcessRow): string {
  const { name, owner, label, argv, pid, state, signal, exitCode } = listed;
  return [name, owner, label, commandLine(argv), pid, state, signal, exitCode]
    .filter((part) => part !== null)
    .join(" ");
}

const COMPARISONS: Readonly<Record<SortColumn, (one: ProcessRow, other: ProcessRow) => number>> = {
  state: ({ listed: one }, { listed: other }) =>
    text(one.state, other.state) || (one.exitCode ?? 0) - (other.exitCode ?? 0),
  command: (one, other) => text(nameOf(one), nameOf(other)),
  owner: (one, other) => text(one.listed.owner ?? "", other.listed.owner ?? ""),
  age: (one, other) => sinceMs(other) - sinceMs(one),
  cpu: (one, other) => (one.cpu ?? 0) - (other.cpu ?? 0),
  memory: (one, other) => (one.listed.usage?.memoryBytes ?? 0) - (other.listed.usage?.memoryBytes ?? 0),
  output: (one, other) => one.rate - other.rate || one.listed.outputBytes - other.listed.outputBytes,
};

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
