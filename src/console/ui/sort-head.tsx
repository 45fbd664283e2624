import type { Signal } from "@preact/signals";
import { type ColumnSorting, nextSorting } from "./arrange-rows.ts";
import { Icon } from "./icon.tsx";

export interface SortHeadProps<C extends string> {
  readonly class?: string;
  readonly column: C;
  readonly title: string;
  readonly sorting: Signal<ColumnSorting<C>>;
  /** Columns that a first click sorts descending. */
  readonly largestFirst: readonly C[];
}

/** The head of a column, which sorts by it. */
export function SortHead<C extends string>({ column, title, sorting, ...props }: SortHeadProps<C>) {
  const { isDescending } = sorting.value;
  const isSorted = sorting.value.column === column;
  const direction = isDescending ? "descending" : "ascending";
  return (
    <span
      role="columnheader"
      class={`sort-head ${props.class ?? ""} ${column}`}
      aria-sort={isSorted ? direction : undefined}
    >
      <button
        type="button"
        onClick={() => {
          sorting.value = nextSorting(column, sorting.value, props.largestFirst);
        }}
      >
        {title}
        {isSorted ? <Icon name={isDescending ? "arrow-down" : "arrow-up"} /> : null}
      </button>
    </span>
  );
}
