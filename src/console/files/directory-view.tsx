import { computed, type Signal, useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { describeError } from "../connection/describe-error.ts";
import { useHost } from "../connection/use-host.ts";
import { inGroup, useCommands } from "../frame/commands.ts";
import { navigate } from "../frame/router.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import { ErrorBox } from "../ui/error-box.tsx";
import { writeTo } from "../ui/field.tsx";
import { Menu, type MenuItem, type MenuProps } from "../ui/menu.tsx";
import { directoryActions, entryActions } from "./directory-actions.ts";
import { Directory } from "./directory.ts";
import { chooseEntries, type Entry } from "./entries.ts";
import { FileList } from "./file-list.tsx";
import { FilesFrame } from "./files-frame.tsx";
import { addressOf, isExact, joinPath } from "../frame/paths.ts";
import { mayStart, mayWrite } from "./reach.ts";
import { order, showsHidden } from "./preferences.ts";
import { keepListed, NOTHING, type Selection, selectOnly } from "./selection.ts";
import { SelectionBar, Summary } from "./status-bars.tsx";
import { DropZone, useUploads } from "./uploads.tsx";

/** The selected row and the scroll position of a directory, for when the person comes back. */
interface ListPosition {
  readonly current?: string | undefined;
  readonly top: number;
}

const MAX_POSITIONS = 200;
const positions = new Map<string, ListPosition>();

/** A directory, as it changes. */
export function DirectoryView({ path }: { readonly path: string }) {
  const host = useHost();
  const { files } = host;
  const directory = useMemo(() => new Directory(files, path), [files, path]);
  const filter = useSignal("");
  const last = useMemo(() => listPosition(path), [path]);
  const selection = useSignal<Selection>(last.current === undefined ? NOTHING : selectOnly(last.current));
  const filterField = useRef<HTMLInputElement>(null);
  const menu = useSignal<Pick<MenuProps, "at" | "items"> | undefined>(undefined);
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
  // Immediately, so that keys never act on a selection that is not listed.
  useLayoutEffect(() => {
    if (directory.entries.value === undefined) return;
    const names = shown.map(({ name }) => name);
    selection.value = keepListed(selection.value, before.current, names);
    if (selection.value.current === undefined && names[0] !== undefined)
      selection.value = { ...NOTHING, current: names[0], anchor: names[0] };
    before.current = names;
  }, [shown]);

  const open = ({ name }: Entry): void => {
    if (isExact(name)) navigate(addressOf(joinPath(path, name)));
  };
  const select = (name: string | undefined): void => {
    if (name !== undefined) selection.value = selectOnly(name);
  };
  const entries = directory.entries.value;
  const error = directory.error.value;
  const taken = new Set(entries?.map(({ name }) => name));
  const context = { host, directory: path, taken, select };
  const { names, current } = selection.value;
  const chosen = shown.filter(({ name }) => (names.size === 0 ? name === current : names.has(name)));
  const onSelected = entryActions(context, chosen, open);
  const onDirectory = directoryActions(context);
  const latestActions = useRef(onSelected);
  latestActions.current = onSelected;
  const uploads = useUploads(files, path);
  useCommands(
    () =>
      inGroup("Files", [
        { id: "files-filter", title: "Filter by name", keys: "/", run: () => filterField.current?.focus() },
        { id: "files-hidden", title: "Show or hide hidden files", keys: ".", run: switchHidden },
        { id: "files-refresh", title: "Refresh the list", keys: "r", run: () => void directory.refresh() },
        ...[...uploads.items, ...onDirectory, ...onSelected]
          // The list takes Enter itself.
          .filter(({ id }) => id !== "open")
          .map(({ id, title, keys, run }) => ({ id: `files-${id}`, title, keys, run })),
      ]),
    [path, chosen.length === 0, chosen.length === 1, mayWrite(), mayStart()],
  );
  const openMenu = (at: MenuProps["at"], items: readonly MenuItem[]): void => {
    menu.value = items.length === 0 ? undefined : { at, items };
  };
  return (
    <FilesFrame
      path={path}
      directory={path}
      actions={
        <>
          <FilterField
            field={filterField}
            filter={filter}
            onOpen={() => shown[0] !== undefined && open(shown[0])}
          />
          <IconButton
            icon="eye"
            label="Hidden files"
            keys="."
            pressed={showsHidden.value}
            onClick={switchHidden}
          />
          {uploads.items.length === 0 ? null : (
            <IconButton
              icon="upload"
              label="Upload"
              keys="u"
              onClick={(event) => openMenu(event.currentTarget as Element, uploads.items)}
            />
          )}
          <IconButton
            icon={mayWrite() ? "plus" : "more"}
            label={mayWrite() ? "New, and more" : "More"}
            onClick={(event) => openMenu(event.currentTarget as Element, onDirectory)}
          />
        </>
      }
      foot={
        entries === undefined ? null : names.size > 0 ? (
          <SelectionBar
            entries={chosen}
            actions={onSelected}
            onClear={() => {
              selection.value = { ...selection.value, names: new Set() };
            }}
          />
        ) : (
          <Summary all={entries} shown={shown} isLive={directory.isLive.value} />
        )
      }
    >
      {error === undefined ? null : (
        <div class="view-failed">
          <ErrorBox {...describeError(error)}>
            <Button onClick={() => void directory.refresh()}>Try again</Button>
          </ErrorBox>
        </div>
      )}
      {entries === undefined || error !== undefined ? null : (
        <DropZone files={files} directory={path}>
          {shown.length === 0 ? (
            <EmptyDirectory all={entries} isFiltered={filter.value !== ""} />
          ) : (
            <FileList
              files={files}
              directory={path}
              entries={shown}
              selection={selection.value}
              startTop={last.top}
              onSelect={(selected) => {
                selection.value = selected;
                rememberPosition(path, { current: selected.current });
              }}
              onOpen={open}
              onMenu={(at) => {
                // Uses the row that was just selected.
                setTimeout(() => openMenu(at, latestActions.current));
              }}
              onScroll={(top) => rememberPosition(path, { top })}
            />
          )}
        </DropZone>
      )}
      {uploads.fields}
      {menu.value === undefined ? null : (
        <Menu
          label="Actions"
          {...menu.value}
          onClose={() => {
            menu.value = undefined;
          }}
        />
      )}
    </FilesFrame>
  );
}

function switchHidden(): void {
  showsHidden.value = !showsHidden.value;
}

function EmptyDirectory({
  all,
  isFiltered,
}: {
  readonly all: readonly Entry[];
  readonly isFiltered: boolean;
}) {
  if (isFiltered)
    return (
      <EmptyState
        icon="search"
        title="No matching names"
        text="Press Escape in the filter to show everything."
      />
    );
  const text =
    all.length === 0
      ? mayWrite()
        ? "Drop files here to upload them."
        : "You can view it, but not change it."
      : "It contains only hidden files, whose names begin with a dot. Press . to show them.";
  return <EmptyState icon="folder" title="This directory is empty" text={text} />;
}

interface FilterFieldProps {
  readonly field: RefObject<HTMLInputElement | null>;
  readonly filter: Signal<string>;
  /** Opens the first entry that is left. */
  readonly onOpen: () => void;
}

/** Filters the list as the user types. Enter opens the first match. */
function FilterField({ field, filter, onOpen }: FilterFieldProps) {
  const focusList = (): void => document.querySelector<HTMLElement>(".files-list")?.focus();
  return (
    <input
      ref={field}
      class="files-filter"
      type="search"
      aria-label="Filter by name"
      placeholder="Filter  /"
      autocomplete="off"
      spellcheck={false}
      value={filter.value}
      onInput={writeTo(filter)}
      onKeyDown={(event) => {
        if (event.key === "Escape") {
          filter.value = "";
          focusList();
        } else if (event.key === "Enter") onOpen();
        else if (event.key === "ArrowDown") focusList();
        else return;
        event.preventDefault();
      }}
    />
  );
}

function listPosition(directory: string): ListPosition {
  return positions.get(directory) ?? { top: 0 };
}

function rememberPosition(directory: string, changed: Partial<ListPosition>): void {
  const known = listPosition(directory);
  positions.delete(directory);
  positions.set(directory, { ...known, ...changed });
  if (positions.size > MAX_POSITIONS) positions.delete(positions.keys().next().value!);
}
