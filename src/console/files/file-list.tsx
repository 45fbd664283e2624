import { keepsFocus } from "../ui/field.tsx";
import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Files } from "../../client/browser.ts";
import { type Entry, LARGEST_FIRST, type SortColumn } from "./entries.ts";
import { FileRow } from "./file-row.tsx";
import { order } from "./preferences.ts";
import { SortHead } from "../ui/sort-head.tsx";
import { rowWindow, scrollTo } from "../ui/row-window.ts";
import { type Selection, selectAll, selectOnly, selectRange, toggle } from "./selection.ts";

export interface FileListProps {
  readonly files: Files;
  readonly directory: string;
  readonly entries: readonly Entry[];
  readonly selection: Selection;
  /** Initial scroll position of the list. */
  readonly startTop: number;
  readonly onSelect: (selection: Selection) => void;
  readonly onOpen: (entry: Entry) => void;
  readonly onMenu: (at: { readonly x: number; readonly y: number }) => void;
  readonly onScroll: (top: number) => void;
}

const COLUMNS: readonly { readonly column: SortColumn; readonly title: string }[] = [
  { column: "name", title: "Name" },
  { column: "size", title: "Size" },
  { column: "modified", title: "Modified" },
];

/** The entries of a directory. Only the rows that are visible exist. */
export function FileList(props: FileListProps) {
  const { entries, selection, onSelect } = props;
  const list = useRef<HTMLDivElement>(null);
  const view = useSignal({ top: props.startTop, height: 0, row: 36 });
  const measure = (): void => {
    const element = list.current;
    if (element === null) return;
    const head = element.firstElementChild?.clientHeight ?? 0;
    const row = Number.parseFloat(getComputedStyle(element).getPropertyValue("--row")) || 36;
    view.value = { top: element.scrollTop, height: element.clientHeight - head, row };
  };
  useLayoutEffect(() => {
    const element = list.current!;
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    element.scrollTop = props.startTop;
    if (!keepsFocus(document.activeElement)) element.focus({ preventScroll: true });
    return () => observer.disconnect();
  }, [props.directory]);
  const names = (): string[] => entries.map(({ name }) => name);
  const index = entries.findIndex(({ name }) => name === selection.current);
  useEffect(() => {
    const element = list.current;
    if (element === null || index < 0) return;
    element.scrollTop = scrollTo(index, view.value, view.value.row);
  }, [selection.current]);

  const move = (to: number, extend: boolean): void => {
    const name = entries[Math.max(0, Math.min(entries.length - 1, to))]?.name;
    if (name !== undefined) onSelect(extend ? selectRange(selection, name, names()) : selectOnly(name));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const page = Math.max(1, Math.floor(view.value.height / view.value.row) - 1);
    const steps: Record<string, number> = {
      ArrowDown: index + 1,
      j: index + 1,
      ArrowUp: index < 0 ? 0 : index - 1,
      k: index < 0 ? 0 : index - 1,
      PageDown: index + page,
      PageUp: index - page,
      Home: 0,
      End: entries.length - 1,
    };
    const step = steps[event.key];
    const control = event.ctrlKey || event.metaKey;
    if (step !== undefined && !control && !event.altKey) move(step, event.shiftKey);
    else if (event.key === "Enter" && entries[index] !== undefined) props.onOpen(entries[index]);
    else if (event.key === " " && selection.current !== undefined)
      onSelect(toggle(selection, selection.current));
    else if (event.key === "a" && control) onSelect(selectAll(selection, names()));
    else if ((event.key === "F10" && event.shiftKey) || event.key === "ContextMenu")
      props.onMenu(menuPoint(list.current, index - start, view.value.row));
    else return;
    event.preventDefault();
  };
  const onRow = (event: MouseEvent, entry: Entry): void => {
    const { name } = entry;
    if (event.shiftKey) onSelect(selectRange(selection, name, names()));
    else if (event.ctrlKey || event.metaKey) onSelect(toggle(selection, name));
    else onSelect(selectOnly(name));
  };
  const { start, end } = rowWindow(view.value, view.value.row, entries.length);
  return (
    <div
      class="files-list"
      role="grid"
      aria-label="Files"
      aria-rowcount={entries.length + 1}
      aria-multiselectable="true"
      aria-activedescendant={index < 0 ? undefined : `file-${index}`}
      tabIndex={0}
      ref={list}
      onKeyDown={onKeyDown}
      onScroll={(event) => {
        view.value = { ...view.value, top: event.currentTarget.scrollTop };
        props.onScroll(event.currentTarget.scrollTop);
      }}
    >
      <div class="files-row files-head" role="row" aria-rowindex={1}>
        {COLUMNS.map(({ column, title }) => (
          <SortHead
            key={column}
            class={`files-${column}`}
            column={column}
            title={title}
            sorting={order}
            largestFirst={LARGEST_FIRST}
          />
        ))}
        <span class="files-mode" role="columnheader">
          Permissions
        </span>
      </div>
      <div
        class="files-rows"
        role="rowgroup"
        style={{ height: `${entries.length * view.value.row}px`, paddingTop: `${start * view.value.row}px` }}
      >
        {entries.slice(start, end).map((entry, offset) => (
          <FileRow
            key={entry.name}
            files={props.files}
            directory={props.directory}
            entry={entry}
            index={start + offset}
            isSelected={selection.names.has(entry.name)}
            isCurrent={selection.current === entry.name}
            onClick={(event) => onRow(event, entry)}
            onOpen={() => props.onOpen(entry)}
            onMenu={(event) => {
              event.preventDefault();
              if (!selection.names.has(entry.name)) onSelect(selectOnly(entry.name));
              props.onMenu({ x: event.clientX, y: event.clientY });
            }}
          />
        ))}
      </div>
    </div>
  );
}

function menuPoint(list: Element | null, row: number, height: number): { x: number; y: number } {
  const element = list?.querySelectorAll(".files-rows > .files-row")[row];
  const box = (element ?? list)?.getBoundingClientRect();
  return { x: (box?.left ?? 0) + 40, y: (box?.top ?? 0) + height };
}
