import { joinPath, parentOf } from "../../frame/paths.ts";

/** Larger uploads are a task for the command line. */
const MAX_ENTRIES = 50_000;
const MAX_DEPTH = 64;

/** A file to upload, with its path below the dropped item. */
interface SourceFile {
  readonly file: Blob;
  /** Such as `photos/2026/a.jpg`; a plain file has only its name. */
  readonly relative: string;
}

export interface UploadSource {
  readonly files: readonly SourceFile[];
  /** Empty directories are created as well. */
  readonly directories: readonly string[];
}

export interface PlannedUpload {
  readonly files: readonly { readonly blob: Blob; readonly path: string }[];
  /** Parents before their children. */
  readonly directories: readonly string[];
  readonly bytes: number;
}

/** The directories to create and the files to write. */
export function planUpload(directory: string, source: UploadSource): PlannedUpload {
  const directories = new Set<string>();
  const addDirectory = (path: string): void => {
    if (path === directory || directories.has(path)) return;
    addDirectory(parentOf(path));
    directories.add(path);
  };
  for (const relative of source.directories) addDirectory(joinPath(directory, relative));
  const files = source.files.map(({ file, relative }) => {
    const path = joinPath(directory, relative);
    addDirectory(parentOf(path));
    return { blob: file, path };
  });
  return {
    files,
    directories: [...directories],
    bytes: files.reduce((sum, { blob }) => sum + blob.size, 0),
  };
}

/** Names of the first level that a plan needs in its directory. */
export function topNames(source: UploadSource): ReadonlySet<string> {
  const all = [...source.files.map(({ relative }) => relative), ...source.directories];
  return new Set(all.map((relative) => relative.split("/")[0]!));
}

/** The files that a person chose in a field. */
export function chosenFiles(list: FileList): UploadSource {
  if (list.length > MAX_ENTRIES) throw tooMany();
  const files = [...list].map((file) => ({ file, relative: file.webkitRelativePath || file.name }));
  return { files, directories: [] };
}

/** What was dropped. Its directories are read later, which takes a while if they are large. */
export interface Dropped {
  /** Such as `photos`, or `3 items`. */
  readonly title: string;
  readonly hasDirectories: boolean;
  readonly read: (signal: AbortSignal, onFound: (entries: number) => void) => Promise<UploadSource>;
}

/** The dropped files. Must be called while the event is being handled: afterwards they are gone. */
export function droppedItems(transfer: DataTransfer): Dropped {
  const entries: FileSystemEntry[] = [];
  const plain: SourceFile[] = [];
  for (const item of transfer.items) {
    const entry = item.webkitGetAsEntry();
    // A picture that was dragged from another page is not a file on disk.
    const file = entry === null ? item.getAsFile() : null;
    if (entry !== null) entries.push(entry);
    else if (file !== null) plain.push({ file, relative: file.name });
  }
  const [first] = [...entries.map(({ name }) => name), ...plain.map(({ relative }) => relative)];
  const count = entries.length + plain.length;
  return {
    title: count === 1 ? first! : `${count} items`,
    hasDirectories: entries.some(({ isDirectory }) => isDirectory),
    read: (signal, onFound) => readEntries(entries, plain, signal, onFound),
  };
}

/** Reads directories to their end, or until the signal is aborted. */
export async function readEntries(
  entries: readonly FileSystemEntry[],
  plain: readonly SourceFile[],
  signal: AbortSignal,
  onFound: (entries: number) => void,
): Promise<UploadSource> {
  const files: SourceFile[] = [...plain];
  const directories: string[] = [];
  const add = async (entry: FileSystemEntry, above: string, depth: number): Promise<void> => {
    signal.throwIfAborted();
    const relative = above === "" ? entry.name : `${above}/${entry.name}`;
    if (files.length + directories.length >= MAX_ENTRIES) throw tooMany();
    // Such as a link to a directory above it.
    if (depth > MAX_DEPTH) throw new Error(`${relative} is more than ${MAX_DEPTH} directories deep`);
    if (entry.isFile) files.push({ file: await fileOf(entry as FileSystemFileEntry, relative), relative });
    else {
      directories.push(relative);
      for await (const child of childrenOf(entry as FileSystemDirectoryEntry, relative))
        await add(child, relative, depth + 1);
    }
    onFound(files.length + directories.length);
  };
  for (const entry of entries) await add(entry, "", 0);
  return { files, directories };
}

function fileOf(entry: FileSystemFileEntry, relative: string): Promise<File> {
  return new Promise((resolve, reject) =>
    entry.file(resolve, (cause: unknown) => reject(unreadable(relative, cause))),
  );
}

async function* childrenOf(
  directory: FileSystemDirectoryEntry,
  relative: string,
): AsyncGenerator<FileSystemEntry, void, undefined> {
  const reader = directory.createReader();
  for (;;) {
    // Browsers return some at a time.
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, (cause: unknown) => reject(unreadable(relative, cause))),
    );
    if (some.length === 0) return;
    yield* some;
  }
}

/** The error for a file or directory of the user's own machine. */
export function unreadable(name: string, cause: unknown): Error {
  return new Error(
    `${name} cannot be read on this computer; check its permissions, and that it still exists`,
    {
      cause,
    },
  );
}

function tooMany(): Error {
  return new Error(
    `more than ${MAX_ENTRIES} files and directories are too many for a page; copy them with exec-server cp`,
  );
}
