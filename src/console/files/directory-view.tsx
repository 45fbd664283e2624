import { computed, useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { DetailedEntry } from "../../client/browser.ts";
import { describeError } from "../connection/describe-error.ts";
import { useHost } from "../connection/use-host.ts";
import { useCommands } from "../shell/commands.ts";
import { navigate } from "../shell/router.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import { ErrorBox } from "../ui/error-box.tsx";
import { Directory } from "./directory.ts";
import { chooseEntries } from "./entries.ts";
import { FileList } from "./file-list.tsx";
import { FilesFrame } from "./files-frame.tsx";
import { formatBytes } from "./format.ts";
import { addressOf, isExact, joinPath } from "./paths.ts";
import { order, showsHidden } from "./preferences.ts";
import { keepListed, NOTHING, type Selection, selectOnly } from "./selection.ts";
import { placeIn, rememberPlace } from "./places.ts";

export interface DirectoryViewProps {
  readonly path: string;
  readonly home: string;
}

/** A directory, as it changes. */
export function DirectoryView({ path, home }: DirectoryViewProps) {
  const { files } = useHost();
  const directory = useMemo(() => new Directory(files, path), [files, path]);
  const filter = useSignal("");
  const place = useMemo(() => placeIn(path), [path]);
  const selection = useSignal<Selection>(place.current === undefined ? NOTHING : selectOnly(place.current));
  const filterField = useRef<HTMLInputElement>(null);
  useEffect(() => {
    void directory.open();
    return () => directory.close();
  }, [directory]);
  const shown = useMemo(
    () =>
      computed(() =>
        chooseEntries(directory.entries.value ?? [], {
          order: order.value,
          showsHidden: showsHidden.value,
          filter: filter.value,
        }),
      ),
    [directory],
  ).value;
  const before = useRef<readonly string[]>([]);
  useEffect(() => {
    if (directory.entries.value === undefined) return;
    const names = shown.map(({ name }) => name);
    selection.value = keepListed(selection.value, before.current, names);
    if (selection.value.current === undefined && names[0] !== undefined)
      selection.value = { ...NOTHING, current: names[0], anchor: names[0] };
    before.current = names;
  }, [shown]);

  const open = ({ name }: DetailedEntry): void => {
    if (isExact(name)) navigate(addressOf(joinPath(path, name)));
  };
  const focusList = (): void => document.querySelector<HTMLElement>(".files-list")?.focus();
  useCommands(() => [
    {
      id: "files-filter",
      title: "Filter by name",
      group: "Files",
      keys: "/",
      run: () => filterField.current?.focus(),
    },
    { id: "files-hidden", title: "Show or hide hidden files", group: "Files", keys: ".", run: switchHidden },
    {
      id: "files-refresh",
      title: "List again",
      group: "Files",
      keys: "r",
      run: () => void directory.refresh(),
    },
  ]);
  const entries = directory.entries.value;
  const error = directory.error.value;
  return (
    <FilesFrame
      path={path}
      home={home}
      directory={path}
      actions={
        <>
          <input
            ref={filterField}
            class="files-filter"
            type="search"
            aria-label="Filter by name"
            placeholder="Filter"
            value={filter.value}
            onInput={(event) => {
              filter.value = event.currentTarget.value;
            }}
            onKeyDown={(event) => {
              if (event.key === "Escape") {
                filter.value = "";
                focusList();
              } else if (event.key === "Enter" && shown[0] !== undefined) open(shown[0]);
              else if (event.key === "ArrowDown") focusList();
              else return;
              event.preventDefault();
            }}
          />
          <IconButton
            icon="eye"
            label="Hidden files"
            keys="."
            pressed={showsHidden.value}
            onClick={switchHidden}
          />
        </>
      }
      foot={
        entries === undefined ? null : <Summary all={entries} shown={shown} isLive={directory.isLive.value} />
      }
    >
      {error === undefined ? null : (
        <div class="files-error">
          <ErrorBox {...describeError(error)}>
            <Button onClick={() => void directory.refresh()}>Try again</Button>
          </ErrorBox>
        </div>
      )}
      {entries === undefined || error !== undefined ? null : shown.length === 0 ? (
        <Nothing all={entries} isFiltered={filter.value !== ""} />
      ) : (
        <FileList
          files={files}
          directory={path}
          entries={shown}
          selection={selection.value}
          order={order.value}
          startTop={place.top}
          onSelect={(selected) => {
            selection.value = selected;
            rememberPlace(path, { current: selected.current });
          }}
          onOrder={(chosen) => {
            order.value = chosen;
          }}
          onOpen={open}
          onMenu={() => {}}
          onScroll={(top) => rememberPlace(path, { top })}
        />
      )}
    </FilesFrame>
  );
}

function switchHidden(): void {
  showsHidden.value = !showsHidden.value;
}

function Nothing({
  all,
  isFiltered,
}: {
  readonly all: readonly DetailedEntry[];
  readonly isFiltered: boolean;
}) {
  if (isFiltered)
    return (
      <EmptyState
        icon="search"
        title="No name contains that"
        text="Press Escape in the filter to list everything."
      />
    );
  const text =
    all.length === 0
      ? "Drop files here to upload them."
      : "Everything in it is hidden: names that begin with a dot. Press . to list them.";
  return <EmptyState icon="folder" title="This directory is empty" text={text} />;
}

interface SummaryProps {
  readonly all: readonly DetailedEntry[];
  readonly shown: readonly DetailedEntry[];
  readonly isLive: boolean;
}

function Summary({ all, shown, isLive }: SummaryProps) {
  const bytes = shown.reduce((sum, { kind, size }) => sum + (kind === "file" ? size : 0), 0);
  const more = all.length - shown.length;
  return (
    <footer class="files-foot number">
      <span>
        {shown.length.toLocaleString()} {shown.length === 1 ? "entry" : "entries"}
        {more === 0 ? "" : `, ${more.toLocaleString()} not shown`}
      </span>
      <span>{formatBytes(bytes)}</span>
      {isLive ? null : (
        <span title="Changes do not show by themselves; press r to list again.">not live</span>
      )}
    </footer>
  );
}
