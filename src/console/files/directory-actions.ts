import type { DetailedEntry, Files, Host } from "../../client/browser.ts";
import type { MenuItem } from "../ui/menu.tsx";
import { toast } from "../ui/toast.tsx";
import { downloadDirectory, downloadFile } from "./jobs/download.ts";
import { changeMode, deleteEntries, moveEntries, newDirectory, newFile, renameEntry } from "./operations.ts";
import { isExact, joinPath } from "./paths.ts";

export interface DirectoryContext {
  readonly host: Host;
  readonly files: Files;
  readonly directory: string;
  readonly home: string;
  readonly all: readonly DetailedEntry[];
  /** Selects what was made or renamed, when it is listed. */
  readonly select: (name: string) => void;
}

/** What can be done with a directory itself. */
export function directoryActions(context: DirectoryContext): readonly MenuItem[] {
  const { files, directory, all, select } = context;
  const taken = new Set(all.map(({ name }) => name));
  return [
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
    {
      id: "download-directory",
      title: "Download this directory",
      icon: "download",
      run: () => void downloadDirectory(directory),
    },
    { id: "copy-path", title: "Copy the path", icon: "copy", run: () => copyText(directory) },
  ];
}

/** What can be done with entries that are selected. */
export function entryActions(
  context: DirectoryContext,
  selected: readonly DetailedEntry[],
  open: (entry: DetailedEntry) => void,
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
    {
      id: "rename",
      title: "Rename",
      icon: "edit",
      keys: "F2",
      run: () => void renameEntry(files, paths[0]!, taken).then((name) => name !== undefined && select(name)),
    },
  ];
  return [
    ...(isSingle ? single : []),
    {
      id: "download",
      title: "Download",
      icon: "download",
      keys: "d",
      run: () => void download(context, selected),
    },
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
    {
      id: "copy-paths",
      title: isSingle ? "Copy the path" : "Copy the paths",
      icon: "copy",
      keys: "y",
      run: () => copyText(paths.join("\n")),
    },
    {
      id: "delete",
      title: "Delete",
      icon: "trash",
      keys: "Delete",
      danger: true,
      run: () => void deleteEntries(files, directory, selected),
    },
  ];
}

async function download(
  { files, directory }: DirectoryContext,
  selected: readonly DetailedEntry[],
): Promise<void> {
  for (const { name, kind, size } of selected) {
    const path = joinPath(directory, name);
    const found = kind === "link" ? await files.stat(path).catch(() => undefined) : { kind, size };
    if (found?.kind === "directory") await downloadDirectory(path);
    else if (found?.kind === "file") await downloadFile(path, found.size);
    else toast({ kind: "bad", text: `${name} is no file that can be downloaded.` });
  }
}

function copyText(text: string): void {
  navigator.clipboard.writeText(text).then(
    () => toast({ kind: "good", text: "Copied." }),
    () =>
      toast({
        kind: "bad",
        text: "The browser does not let this page copy.",
        remedy: "Allow it, or select the text yourself.",
      }),
  );
}
