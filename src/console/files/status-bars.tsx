import type { Entry } from "./entries.ts";
import { Button, IconButton } from "../ui/button.tsx";
import type { MenuItem } from "../ui/menu.tsx";
import { formatSize } from "../../base/amounts.ts";

export interface SummaryProps {
  readonly all: readonly Entry[];
  readonly shown: readonly Entry[];
  readonly isLive: boolean;
}

/** Number and size of the listed entries. */
export function Summary({ all, shown, isLive }: SummaryProps) {
  const more = all.length - shown.length;
  return (
    <footer class="files-foot number">
      <span>
        {counted(shown.length)}
        {more === 0 ? "" : `, ${more.toLocaleString()} not shown`}
      </span>
      <span>{sizeText(shown)}</span>
      {isLive ? null : (
        <span title="This list does not update by itself. Press r to refresh it.">not live</span>
      )}
    </footer>
  );
}

export interface SelectionBarProps {
  readonly entries: readonly Entry[];
  readonly actions: readonly MenuItem[];
  readonly onClear: () => void;
}

/** The selection, and actions on it. */
export function SelectionBar({ entries, actions, onClear }: SelectionBarProps) {
  return (
    <footer class="files-foot files-selected number" role="group" aria-label="Selected files">
      <IconButton icon="close" label="Clear the selection" onClick={onClear} />
      <span class="files-selected-count">
        {entries.length === 1 ? "1 selected" : `${entries.length.toLocaleString()} selected`}
        {entries.some(({ kind }) => kind === "file") && isKnown(entries) ? `, ${sizeText(entries)}` : ""}
      </span>
      {actions.map(({ id, title, icon, keys, danger, run }) => (
        <Button
          key={id}
          kind={danger ? "danger" : "quiet"}
          {...(icon === undefined ? {} : { icon })}
          title={keys === undefined ? title : `${title} (${keys})`}
          onClick={run}
        >
          {title}
        </Button>
      ))}
    </footer>
  );
}

function counted(count: number): string {
  return `${count.toLocaleString()} ${count === 1 ? "entry" : "entries"}`;
}

/** Total size of files; nothing if it is unknown. */
function sizeText(entries: readonly Entry[]): string {
  if (!isKnown(entries)) return "";
  return formatSize(entries.reduce((sum, { kind, size = 0 }) => sum + (kind === "file" ? size : 0), 0));
}

function isKnown(entries: readonly Entry[]): boolean {
  return entries.every(({ size }) => size !== undefined);
}
