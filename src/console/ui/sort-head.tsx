import type { Signal } from "@preact/signals";
import { Icon } from "./icon.tsx";

/** By which column a list is sorted. */
export interface ColumnSorting<C extends string> {
  readonly column: C;
  readonly isDescending: boolean;
}

export interface SortHeadProps<C extends string> {
  readonly class?: string;
  readonly column: C;
  readonly title: string;
  readonly sorting: Signal<ColumnSorting<C>>;
  /** The sorting after a click on the head of a column. */
  readonly next: (column: C, sorting: ColumnSorting<C>) => ColumnSorting<C>;
}

/** The head of a column, which sorts by it. */
export function SortHead<C extends string>({
  class: name = "",
  column,
  title,
  sorting,
  next,
}: SortHeadProps<C>) {
  const isSorted = sorting.value.column === column;
  const direction = sorting.value.isDescending ? "descending" : "ascending";
  return (
    <span
      role="columnheader"
      class={`sort-head ${name} ${column}`}
      aria-sort={isSorted ? direction : undefined}
    >
      <button
        type="button"
        onClick={() => {
          sorting.value = next(column, sorting.value);
        }}
      >
        {title}
        {isSorted ? <Icon name={sorting.value.isDescending ? "arrow-down" : "arrow-up"} /> : null}
      </button>
    </span>
  );
}
