import { computed, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { describeError } from "../connection/describe-error.ts";
import { useHost } from "../connection/use-host.ts";
import { type Command, useCommands } from "../frame/commands.ts";
import { navigate } from "../frame/router.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import { ErrorBox } from "../ui/error-box.tsx";
import { Menu, type MenuItem } from "../ui/menu.tsx";
import { directoryActions, entryActions } from "./directory-actions.ts";
import { Directory } from "./directory.ts";
import { DropZone } from "./drop-zone.tsx";
import { chooseEntries, type Entry } from "./entries.ts";
import { FileList } from "./file-list.tsx";
import { FilesFrame } from "./files-frame.tsx";
import { FilterField } from "./filter-field.tsx";
import { upload } from "./jobs/upload.ts";
import { addressOf, isExact, joinPath } from "../frame/paths.ts";
import { placeIn, rememberPlace } from "./places.ts";
import { mayStart, mayWrite } from "./reach.ts";
import { order, showsHidden } from "./preferences.ts";
import { keepListed, NOTHING, type Selection, selectOnly } from "./selection.ts";
import { SelectionBar, Summary } from "./status-bars.tsx";
import { useUploads } from "./use-uploads.tsx";

export interface DirectoryViewProps {
  readonly path: string;
  readonly home: string;
}

/** A directory, as it changes. */
export function DirectoryView({ path, home }: DirectoryViewProps) {
  const host = useHost();
  const { files } = host;
  const directory = useMemo(() => new Directory(files, path), [files, path]);
  const filter = useSignal("");
  const place = useMemo(() => placeIn(path), [path]);
  const selection = useSignal<Selection>(place.current === undefined ? NOTHING : selectOnly(place.current));
  const filterField = useRef<HTMLInputElement>(null);
  const menu = useSignal<{ readonly at: MenuAt; readonly items: readonly MenuItem[] } | undefined>(undefined);
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
  // At once, so that no key meets a selection that is not listed.
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
  const select = (name: string): void => {
    selection.value = selectOnly(name);
  };
  const entries = directory.entries.value;
  const error = directory.error.value;
  const context = { host, files, directory: path, home, all: entries ?? [], select };
  const { names, current } = selection.value;
  const chosen = shown.filter(({ name }) => (names.size === 0 ? name === current : names.has(name)));
  const onSelected = entryActions(context, chosen, open);
  const onDirectory = directoryActions(context);
  const latestActions = useRef(onSelected);
  latestActions.current = onSelected;
  const uploads = useUploads(files, path);
  useCommands(
    () => [
      {
        id: "files-filter",
        title: "Filter by name",
        group: "Files",
        keys: "/",
        run: () => filterField.current?.focus(),
      },
      {
        id: "files-hidden",
        title: "Show or hide hidden files",
        group: "Files",
        keys: ".",
        run: switchHidden,
      },
      {
        id: "files-refresh",
        title: "List again",
        group: "Files",
        keys: "r",
        run: () => void directory.refresh(),
      },
      ...commandsOf(uploads.items),
      ...commandsOf(onDirectory),
      ...commandsOf(onSelected.filter(({ id }) => id !== "open")),
    ],
    [path, chosen.length === 0, chosen.length === 1, mayWrite(), mayStart()],
  );
  const openMenu = (at: MenuAt, items: readonly MenuItem[]): void => {
    menu.value = items.length === 0 ? undefined : { at, items };
  };
  return (
    <FilesFrame
      path={path}
      home={home}
      directory={path}
      actions={
        <>
          <FilterField
            field={filterField}
            value={filter.value}
            onInput={(text) => {
              filter.value = text;
            }}
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
        <>
          {entries === undefined ? null : names.size > 0 ? (
            <SelectionBar
              entries={chosen}
              actions={onSelected}
              onClear={() => {
                selection.value = { ...selection.value, names: new Set() };
              }}
            />
          ) : (
            <Summary all={entries} shown={shown} isLive={directory.isLive.value} />
          )}
        </>
      }
    >
      {error === undefined ? null : (
        <div class="files-error">
          <ErrorBox {...describeError(error)}>
            <Button onClick={() => void directory.refresh()}>Try again</Button>
          </ErrorBox>
        </div>
      )}
      {entries === undefined || error !== undefined ? null : (
        <DropZone directory={path} isOpen={mayWrite()} onDrop={(given) => upload(files, path, given)}>
          {shown.length === 0 ? (
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
              onOrder={(wanted) => {
                order.value = wanted;
              }}
              onOpen={open}
              onMenu={(at) => {
                // With the row that was just selected.
                setTimeout(() => openMenu(at, latestActions.current));
              }}
              onScroll={(top) => rememberPlace(path, { top })}
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

type MenuAt = Element | { readonly x: number; readonly y: number };

function commandsOf(items: readonly MenuItem[]): readonly Command[] {
  return items.map(({ id, title, keys, run }) => ({ id: `files-${id}`, title, group: "Files", keys, run }));
}

function switchHidden(): void {
  showsHidden.value = !showsHidden.value;
}

function Nothing({ all, isFiltered }: { readonly all: readonly Entry[]; readonly isFiltered: boolean }) {
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
      ? mayWrite()
        ? "Drop files here to upload them."
        : "You may look at it, but not change it."
      : "Everything in it is hidden: names that begin with a dot. Press . to list them.";
  return <EmptyState icon="folder" title="This directory is empty" text={text} />;
}
