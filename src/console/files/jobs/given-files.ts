import type { Given, GivenFile } from "./upload-plan.ts";

/** More files than these are left to the command line. */
const MOST_FILES = 50_000;

/** The files of a field that a person filled. */
export function chosenFiles(list: FileList): Given {
  const files = [...list].map((file) => ({ file, relative: file.webkitRelativePath || file.name }));
  return { files, directories: [] };
}

/** What a person dropped. Must be called while the event is handled: afterwards it is gone. */
export function droppedFiles(transfer: DataTransfer): Promise<Given> {
  const entries: FileSystemEntry[] = [];
  const plain: GivenFile[] = [];
  for (const item of transfer.items) {
    const entry = item.webkitGetAsEntry();
    // A picture that was dragged from another page is not a file on disk.
    const file = entry === null ? item.getAsFile() : null;
    if (entry !== null) entries.push(entry);
    else if (file !== null) plain.push({ file, relative: file.name });
  }
  return collect(entries, plain);
}

async function collect(entries: readonly FileSystemEntry[], plain: readonly GivenFile[]): Promise<Given> {
  const files: GivenFile[] = [...plain];
  const directories: string[] = [];
  const add = async (entry: FileSystemEntry, above: string): Promise<void> => {
    const relative = above === "" ? entry.name : `${above}/${entry.name}`;
    if (entry.isFile) {
      if (files.length === MOST_FILES)
        throw new Error(
          `more than ${MOST_FILES} files are too many for a page; copy them with exec-server cp`,
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
