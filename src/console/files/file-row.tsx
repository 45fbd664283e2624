import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Files } from "../../client/browser.ts";
import type { Entry } from "./entries.ts";
import { Badge } from "../ui/badge.tsx";
import { Icon, type IconName } from "../ui/icon.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { formatSize } from "../../base/amounts.ts";
import { formatDate, formatMode } from "./format.ts";
import { addressOf, isExact, joinPath } from "../frame/paths.ts";

export interface FileRowProps {
  readonly files: Files;
  readonly directory: string;
  readonly entry: Entry;
  readonly index: number;
  readonly isSelected: boolean;
  readonly isCurrent: boolean;
  readonly onClick: (event: MouseEvent) => void;
  readonly onOpen: () => void;
  readonly onMenu: (event: MouseEvent) => void;
}

const KINDS: Record<Entry["kind"], { readonly icon: IconName; readonly title: string }> = {
  directory: { icon: "folder", title: "Directory" },
  file: { icon: "file", title: "File" },
  link: { icon: "link", title: "Link" },
  other: { icon: "system", title: "Device, pipe or socket" },
};

/** One entry of a directory. */
export function FileRow(props: FileRowProps) {
  const { directory, entry, index } = props;
  const path = joinPath(directory, entry.name);
  const { modified, mode } = entry;
  const { icon, title } = KINDS[entry.kind];
  return (
    <div
      id={`file-${index}`}
      class={`files-row ${entry.kind}${props.isCurrent ? " current" : ""}`}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={props.isSelected}
      onClick={props.onClick}
      onDblClick={props.onOpen}
      onContextMenu={props.onMenu}
    >
      <span class="files-name" role="gridcell">
        <span class="files-kind" title={title}>
          <Icon name={icon} />
        </span>
        {isExact(entry.name) ? (
          <a href={addressOf(path)} tabIndex={-1} draggable={false}>
            {visibleText(entry.name)}
          </a>
        ) : (
          <>
            <span>{visibleText(entry.name)}</span>
            <Badge
              kind="warn"
              title="Its name is not valid UTF-8, so only programs on the machine can open it."
            >
              not UTF-8
            </Badge>
          </>
        )}
        {entry.kind === "link" && isExact(entry.name) ? <LinkTarget files={props.files} path={path} /> : null}
      </span>
      <span class="files-size number" role="gridcell">
        {entry.kind === "file" && entry.size !== undefined ? formatSize(entry.size) : ""}
      </span>
      <span class="files-modified number" role="gridcell" title={modified?.toLocaleString()}>
        {modified === undefined ? "" : formatDate(modified)}
      </span>
      <span class="files-mode code" role="gridcell" title={mode?.toString(8).padStart(4, "0")}>
        {mode === undefined ? "" : formatMode(entry.special ?? entry.kind, mode)}
      </span>
    </div>
  );
}

/** Target of a link, and whether it exists. */
function LinkTarget({ files, path }: { readonly files: Files; readonly path: string }) {
  const target = useSignal<{ readonly text: string; readonly isBroken: boolean } | undefined>(undefined);
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    const readTarget = async (): Promise<void> => {
      const text = await files.readLink(path, { signal });
      const isBroken = !(await files.exists(path, { signal }).catch(() => true));
      target.value = { text, isBroken };
    };
    readTarget().catch(() => {}); // Otherwise the row only says that it is a link.
    return () => leaving.abort();
  }, [files, path]);
  if (target.value === undefined) return null;
  const { text, isBroken } = target.value;
  return (
    <span class="files-target" title={visibleText(text)}>
      → {visibleText(text)}
      {isBroken ? <span class="files-broken"> (leads nowhere)</span> : null}
    </span>
  );
}
