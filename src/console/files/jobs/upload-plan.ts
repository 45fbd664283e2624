import { joinPath, parentOf } from "../../frame/paths.ts";

/** Larger uploads are a task for the command line. */
const MAX_FILES = 50_000;

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
  const files = [...list].map((file) => ({ file, relative: file.webkitRelativePath || file.name }));
  return { files, directories: [] };
}

/** The dropped files. Must be called while the event is being handled: afterwards they are gone. */
export function droppedFiles(transfer: DataTransfer): Promise<UploadSource> {
  const entries: FileSystemEntry[] = [];
  const plain: SourceFile[] = [];
  for (const item of transfer.items) {
    const entry = item.webkitGetAsEntry();
    // A picture that was dragged from another page is not a file on disk.
    const file = entry === null ? item.getAsFile() : null;
    if (entry !== null) entries.push(entry);
    else if (file !== null) plain.push({ file, relative: file.name });
  }
  return collect(entries, plain);
}

async function collect(
  entries: readonly FileSystemEntry[],
  plain: readonly SourceFile[],
): Promise<UploadSource> {
  const files: SourceFile[] = [...plain];
  const directories: string[] = [];
  const add = async (entry: FileSystemEntry, above: string): Promise<void> => {
    const relative = above === "" ? entry.name : `${above}/${entry.name}`;
    if (entry.isFile) {
      if (files.length === MAX_FILES)
        throw new Error(
          `more than ${MAX_FILES} files are too many for a page; copy them with exec-server cp`,
        );
      const file = await new Promise<File>((resolve, reject) =>
        (entry as FileSystemFileEntry).file(resolve, reject),
      );
      files.push({ file, relative });
      return;
    }
    directories.push(relative);
    const reader = (entry as FileSystemDirectoryEntry).createReader();
    for (;;) {
      const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
        reader.readEntries(resolve, reject),
      );
      if (some.length === 0) return;
      for (const child of some) await add(child, relative);
    }
  };
  for (const entry of entries) await add(entry, "");
  return { files, directories };
}
