export interface RowWindow {
  /** The first row that is drawn. */
  readonly start: number;
  /** The row after the last one. */
  readonly end: number;
}

/** So many rows are drawn above and below what is visible, so that scrolling shows no gap. */
const SPARE_ROWS = 12;

/** Which rows of a long list are drawn. */
export function rowWindow(
  view: { readonly top: number; readonly height: number },
  rowHeight: number,
  count: number,
): RowWindow {
  const first = Math.floor(Math.max(0, view.top) / rowHeight);
  const visible = Math.ceil(view.height / rowHeight) + 1;
  const end = Math.min(count, first + visible + SPARE_ROWS);
  return { start: Math.max(0, Math.min(first - SPARE_ROWS, end)), end };
}

/** Where to scroll so that a row is visible; the same place if it is. */
export function scrollTo(
  row: number,
  view: { readonly top: number; readonly height: number },
  rowHeight: number,
): number {
  const top = row * rowHeight;
  if (top < view.top) return top;
  return Math.max(view.top, top + rowHeight - view.height);
}
