import type { Files, Host } from "../../client/browser.ts";
import type { Entry } from "./entries.ts";
import { openStart } from "../start/open-start.tsx";
import { copyAndSay } from "../ui/copy-text.ts";
import type { MenuItem } from "../ui/menu.tsx";
import { toast } from "../ui/toast.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { downloadDirectory, downloadFile } from "./jobs/download.ts";
import { changeMode, deleteEntries, moveEntries, newDirectory, newFile, renameEntry } from "./operations.ts";
import { isExact, joinPath, uriOf } from "../frame/paths.ts";
import { openTerminal } from "./open-terminal.ts";
import { mayStart, mayWrite } from "./reach.ts";

export interface DirectoryContext {
  readonly host: Host;
  readonly files: Files;
  readonly directory: string;
  readonly home: string;
  readonly all: readonly Entry[];
  /** Selects what was made or renamed, when it is listed. */
  readonly select: (name: string) => void;
}

/** What can be done with a directory itself. */
export function directoryActions(context: DirectoryContext): readonly MenuItem[] {
  const { host, files, directory, all, select } = context;
  const taken = new Set(all.map(({ name }) => name));
  const changes: readonly MenuItem[] = [
    {
      id: "new-file",
      title: "New file",
      icon: "file",
      keys: "n",
      run: () => void newFile(files, directory, taken),
    },
    {
      id: "new-directory",
      title: "New directory",
      icon: "folder",
      run: () =>
        void newDirectory(files, directory, taken).then((name) => name !== undefined && select(name)),
    },
  ];
  const starts: readonly MenuItem[] = [
    {
      id: "terminal",
      title: "Open a terminal here",
      icon: "terminal",
      keys: "t",
      run: () => void openTerminal(host, directory),
    },
    {
      id: "start",
      title: "Start a process here",
      icon: "play",
      keys: "s",
      run: () => openStart({ cwdUri: uriOf(directory) }),
    },
    {
      // A program of the machine packs it.
      id: "download-directory",
      title: "Download this directory",
      icon: "download",
      run: () => void downloadDirectory(directory),
    },
  ];
  return [
    ...(mayWrite() ? changes : []),
    ...(mayStart() ? starts : []),
    {
      id: "copy-path",
      title: "Copy the path",
      icon: "copy",
      run: () => void copyAndSay(directory, "The path is in the clipboard."),
    },
  ];
}

/** What can be done with entries that are selected. */
export function entryActions(
  context: DirectoryContext,
  selected: readonly Entry[],
  open: (entry: Entry) => void,
): readonly MenuItem[] {
  const { files, directory, home, all, select } = context;
  const [first] = selected;
  if (first === undefined) return [];
  // No path leads to a name that is not text.
  if (selected.some(({ name }) => !isExact(name))) return [];
  const paths = selected.map(({ name }) => joinPath(directory, name));
  const taken = new Set(all.map(({ name }) => name));
  const isSingle = selected.length === 1;
  const single: readonly MenuItem[] = [
    { id: "open", title: "Open", icon: "eye", keys: "Enter", run: () => open(first) },
  ];
  const rename: MenuItem = {
    id: "rename",
    title: "Rename",
    icon: "edit",
    keys: "F2",
    run: () => void renameEntry(files, paths[0]!, taken).then((name) => name !== undefined && select(name)),
  };
  const writable = (items: readonly MenuItem[]): readonly MenuItem[] => (mayWrite() ? items : []);
  return [
    ...(isSingle ? single : []),
    ...(isSingle ? writable([rename]) : []),
    {
      id: "download",
      title: "Download",
      icon: "download",
      keys: "d",
      run: () => void download(context, selected),
    },
    ...writable([
      {
        id: "move",
        title: "Move…",
        icon: "chevron-right",
        keys: "m",
        run: () => void moveEntries(files, paths, home, "move"),
      },
      {
        id: "copy",
        title: "Copy…",
        icon: "plus",
        keys: "c",
        run: () => void moveEntries(files, paths, home, "copy"),
      },
      {
        id: "mode",
        title: "Permissions…",
        icon: "lock",
        run: () => void changeMode(files, directory, selected),
      },
    ]),
    {
      id: "copy-paths",
      title: isSingle ? "Copy the path" : "Copy the paths",
      icon: "copy",
      keys: "y",
      run: () =>
        void copyAndSay(
          paths.join("\n"),
          isSingle ? "The path is in the clipboard." : "The paths are in the clipboard.",
        ),
    },
    ...writable([
      {
        id: "delete",
        title: "Delete",
        icon: "trash",
        keys: "Delete",
        danger: true,
        run: () => void deleteEntries(files, directory, selected),
      },
    ]),
  ];
}

async function download({ files, directory }: DirectoryContext, selected: readonly Entry[]): Promise<void> {
  for (const { name, kind, size } of selected) {
    const path = joinPath(directory, name);
    const found =
      kind === "link" || size === undefined ? await files.stat(path).catch(() => undefined) : { kind, size };
    if (found?.kind === "directory" && !mayStart())
      toast({
        kind: "bad",
        text: `${visibleText(name)} is a directory, which a program of the machine would pack.`,
        remedy: "You may not start programs: download its files one by one.",
      });
    else if (found?.kind === "directory") await downloadDirectory(path);
    else if (found?.kind === "file") await downloadFile(path, found.size);
    else toast({ kind: "bad", text: `${visibleText(name)} cannot be downloaded: it is not a file.` });
  }
}
