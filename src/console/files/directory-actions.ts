import type { Files, Host } from "../../client/browser.ts";
import type { Entry } from "./entries.ts";
import { attempt } from "../connection/attempt.ts";
import { pathTo } from "../frame/addresses.ts";
import { navigate } from "../frame/router.ts";
import { openStart } from "../start/open-start.tsx";
import { copyAndSay } from "../ui/copy-text.ts";
import type { MenuItem } from "../ui/menu.tsx";
import { toast } from "../ui/toast.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { downloadDirectory, downloadFile } from "./jobs/download.ts";
import { changeMode, deleteEntries, moveEntries, newDirectory, newFile, renameEntry } from "./operations.ts";
import { isExact, joinPath, uriOf } from "../frame/paths.ts";
import { mayStart, mayWrite } from "./reach.ts";

export interface DirectoryContext {
  readonly host: Host;
  readonly directory: string;
  /** Names that are there already. */
  readonly taken: ReadonlySet<string>;
  /** Selects the created or renamed entry once it is listed; does nothing if the action failed. */
  readonly select: (name: string | undefined) => void;
}

/** Leaves out what the person may not do, or what makes no sense for the selection. */
function offered(items: readonly (MenuItem & { readonly isOffered?: boolean })[]): readonly MenuItem[] {
  return items.filter(({ isOffered = true }) => isOffered);
}

/** Actions on a directory itself. */
export function directoryActions({ host, directory, taken, select }: DirectoryContext): readonly MenuItem[] {
  const { files } = host;
  return offered([
    {
      id: "new-file",
      title: "New file",
      icon: "file",
      keys: "n",
      isOffered: mayWrite(),
      run: () => void newFile(files, directory, taken),
    },
    {
      id: "new-directory",
      title: "New directory",
      icon: "folder",
      isOffered: mayWrite(),
      run: () => void newDirectory(files, directory, taken).then(select),
    },
    {
      id: "terminal",
      title: "Open a terminal here",
      icon: "terminal",
      keys: "t",
      isOffered: mayStart(),
      run: () => void openTerminal(host, directory),
    },
    {
      id: "start",
      title: "Start a process here",
      icon: "play",
      keys: "s",
      isOffered: mayStart(),
      run: () => openStart({ cwdUri: uriOf(directory) }),
    },
    {
      // A program of the machine packs it.
      id: "download-directory",
      title: "Download this directory",
      icon: "download",
      isOffered: mayStart(),
      run: () => void downloadDirectory(directory),
    },
    { id: "copy-path", title: "Copy the path", icon: "copy", run: () => copyPaths([directory]) },
  ]);
}

/** Actions on selected entries. */
export function entryActions(
  { host: { files }, directory, taken, select }: DirectoryContext,
  selected: readonly Entry[],
  open: (entry: Entry) => void,
): readonly MenuItem[] {
  const [first] = selected;
  // Paths cannot name an entry whose name is not text.
  if (first === undefined || selected.some(({ name }) => !isExact(name))) return [];
  const paths = selected.map(({ name }) => joinPath(directory, name));
  const isSingle = selected.length === 1;
  const isWritable = mayWrite();
  return offered([
    { id: "open", title: "Open", icon: "eye", keys: "Enter", isOffered: isSingle, run: () => open(first) },
    {
      id: "rename",
      title: "Rename",
      icon: "edit",
      keys: "F2",
      isOffered: isSingle && isWritable,
      run: () => void renameEntry(files, paths[0]!, taken).then(select),
    },
    {
      id: "download",
      title: "Download",
      icon: "download",
      keys: "d",
      run: () => void download(files, directory, selected),
    },
    {
      id: "move",
      title: "Move…",
      icon: "chevron-right",
      keys: "m",
      isOffered: isWritable,
      run: () => void moveEntries(files, paths, "move"),
    },
    {
      id: "copy",
      title: "Copy…",
      icon: "plus",
      keys: "c",
      isOffered: isWritable,
      run: () => void moveEntries(files, paths, "copy"),
    },
    {
      id: "mode",
      title: "Permissions…",
      icon: "lock",
      isOffered: isWritable,
      run: () => void changeMode(files, directory, selected),
    },
    {
      id: "copy-paths",
      title: isSingle ? "Copy the path" : "Copy the paths",
      icon: "copy",
      keys: "y",
      run: () => copyPaths(paths),
    },
    {
      id: "delete",
      title: "Delete",
      icon: "trash",
      keys: "Delete",
      danger: true,
      isOffered: isWritable,
      run: () => void deleteEntries(files, directory, selected),
    },
  ]);
}

function copyPaths(paths: readonly string[]): void {
  const what = paths.length === 1 ? "The path was" : "The paths were";
  void copyAndSay(paths.join("\n"), `${what} copied.`);
}

async function download(files: Files, directory: string, selected: readonly Entry[]): Promise<void> {
  for (const { name, kind, size } of selected) {
    const path = joinPath(directory, name);
    const target =
      kind === "link" || size === undefined ? await files.stat(path).catch(() => undefined) : { kind, size };
    if (target?.kind === "directory" && !mayStart())
      toast({
        kind: "bad",
        text: `${visibleText(name)} is a directory: to download it, a program on the machine has to pack it.`,
        remedy: "You cannot start programs there, so download its files one by one.",
      });
    else if (target?.kind === "directory") await downloadDirectory(path);
    else if (target?.kind === "file") await downloadFile(path, target.size);
    else toast({ kind: "bad", text: `${visibleText(name)} cannot be downloaded: it is not a file.` });
  }
}

/** Starts a shell in a directory, and shows it. */
async function openTerminal(host: Host, directory: string): Promise<void> {
  await attempt("The terminal was not started", async () => {
    const { loginShell, startNamed } = await import("../terminals/start-terminal.ts");
    const name = await startNamed(host, { ...loginShell(host), cwd: directory });
    navigate(pathTo("/t", name));
  });
}
