import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { isNarrow } from "./narrow.ts";
import { rowWindow, scrollTo } from "./row-window.ts";

export interface RowGridProps<Row> {
  readonly class: string;
  readonly label: string;
  readonly rows: readonly Row[];
  /** The height of each row, as the style sheet has it. */
  readonly rowPx: { readonly wide: number; readonly narrow: number };
  readonly rowKey: (row: Row) => string;
  /** Key of the row that has the keys. It is scrolled into view when it changes. */
  readonly cursor: string | undefined;
  /** The id of that row. */
  readonly currentId: string;
  readonly isMultiselectable?: boolean;
  readonly emptyText: string;
  readonly head: ComponentChildren;
  readonly children: (row: Row, index: number) => ComponentChildren;
}

/** A grid that draws only the rows that are visible: there may be thousands. */
export function RowGrid<Row>({ rows, rowKey, cursor, currentId, ...props }: RowGridProps<Row>) {
  const body = useRef<HTMLDivElement>(null);
  const view = useSignal({ top: 0, height: 600 });
  useEffect(() => {
    const element = body.current!;
    const measure = (): void => {
      const head = element.firstElementChild!.clientHeight;
      view.value = { top: element.scrollTop, height: element.clientHeight - head };
    };
    const sizes = new ResizeObserver(measure);
    sizes.observe(element);
    element.addEventListener("scroll", measure, { passive: true });
    return () => {
      sizes.disconnect();
      element.removeEventListener("scroll", measure);
    };
  }, []);
  const rowPx = isNarrow.value ? props.rowPx.narrow : props.rowPx.wide;
  const index = rows.findIndex((row) => rowKey(row) === cursor);
  useLayoutEffect(() => {
    if (index >= 0 && body.current !== null) body.current.scrollTop = scrollTo(index, view.peek(), rowPx);
  }, [cursor]);
  const { start, end } = rowWindow(view.value, rowPx, rows.length);
  return (
    <div
      class={`row-grid fill-column ${props.class}`}
      role="grid"
      aria-label={props.label}
      aria-rowcount={rows.length + 1}
      aria-multiselectable={props.isMultiselectable === true ? "true" : undefined}
      tabIndex={0}
      aria-activedescendant={index < start || index >= end ? undefined : currentId}
    >
      <div class="row-grid-body" ref={body}>
        <div class="row-grid-head" role="row" aria-rowindex={1}>
          {props.head}
        </div>
        {rows.length === 0 ? <p class="row-grid-none">{props.emptyText}</p> : null}
        <div class="row-grid-rows" style={{ height: `${rows.length * rowPx}px` }}>
          <div style={{ transform: `translateY(${start * rowPx}px)` }}>
            {rows.slice(start, end).map((row, offset) => props.children(row, start + offset))}
          </div>
        </div>
      </div>
    </div>
  );
}
