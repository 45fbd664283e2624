/** Column by which a list is sorted. */
export interface ColumnSorting<C extends string> {
  readonly column: C;
  readonly isDescending: boolean;
}

/** The sorting after a click on the head of a column. Some columns begin with their largest values. */
export function nextSorting<C extends string>(
  column: C,
  last: ColumnSorting<C>,
  largestFirst: readonly C[],
): ColumnSorting<C> {
  return {
    column,
    isDescending: column === last.column ? !last.isDescending : largestFirst.includes(column),
  };
}

/** Whether a text contains all words of a filter, in any order and case. */
export function hasWords(text: string, filter: string): boolean {
  const searched = text.toLowerCase();
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => searched.includes(word));
}
