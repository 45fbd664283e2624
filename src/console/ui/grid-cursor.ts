import { type ReadonlySignal, useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";

/** The focused row of a grid, and the commands that move to the filter and to other rows. */
export function useGridCursor<Row>(rows: ReadonlySignal<readonly Row[]>, rowKey: (row: Row) => string) {
  const cursor = useSignal<string | undefined>(undefined);
  const filterField = useRef<HTMLInputElement>(null);
  const currentIndex = (): number => rows.value.findIndex((row) => rowKey(row) === cursor.value);
  const move = (by: number): void => {
    const index = currentIndex();
    const row = rows.value[index < 0 ? 0 : Math.min(rows.value.length - 1, Math.max(0, index + by))];
    cursor.value = row && rowKey(row);
  };
  return {
    cursor,
    filterField,
    current: (): Row | undefined => rows.value[currentIndex()],
    commands: (id: string, noun: string) => [
      { id: `${id}-filter`, title: "Filter the list", keys: "/", run: () => filterField.current?.focus() },
      { id: `${id}-next`, title: `Next ${noun}`, keys: "ArrowDown", run: () => move(1) },
      { id: `${id}-next-j`, title: `Next ${noun}`, keys: "j", run: () => move(1) },
      { id: `${id}-previous`, title: `Previous ${noun}`, keys: "ArrowUp", run: () => move(-1) },
      { id: `${id}-previous-k`, title: `Previous ${noun}`, keys: "k", run: () => move(-1) },
    ],
  };
}
