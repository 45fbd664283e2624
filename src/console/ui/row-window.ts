/** Visible part of a scrolling element. */
export interface RowView {
  readonly top: number;
  readonly height: number;
}

/** Number of rows drawn above and below the visible ones, so that scrolling shows no gap. */
const SPARE_ROWS = 12;

/** Range of drawn rows in a long list: from `start` to before `end`. */
export function rowWindow(view: RowView, rowHeight: number, count: number): { start: number; end: number } {
  const first = Math.floor(Math.max(0, view.top) / rowHeight);
  const visible = Math.ceil(view.height / rowHeight) + 1;
  const end = Math.min(count, first + visible + SPARE_ROWS);
  return { start: Math.max(0, Math.min(first - SPARE_ROWS, end)), end };
}

/** Scroll position at which a row is visible; unchanged if it already is. */
export function scrollTo(row: number, view: RowView, rowHeight: number): number {
  const top = row * rowHeight;
  if (top < view.top) return top;
  return Math.max(view.top, top + rowHeight - view.height);
}
