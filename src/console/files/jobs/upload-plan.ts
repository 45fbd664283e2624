import { joinPath, parentOf } from "../../frame/paths.ts";

/** A file that a person gave, with its path below what was dropped. */
export interface GivenFile {
  readonly file: Blob;
  /** Such as `photos/2026/a.jpg`; a plain file has only its name. */
  readonly relative: string;
}

export interface Given {
  readonly files: readonly GivenFile[];
  /** Directories without files in them are made as well. */
  readonly directories: readonly string[];
}

export interface PlannedUpload {
  readonly files: readonly { readonly blob: Blob; readonly path: string }[];
  /** Parents before what is in them. */
  readonly directories: readonly string[];
  readonly bytes: number;
}

/** What must be made and written to have everything in a directory. */
export function planUpload(directory: string, given: Given): PlannedUpload {
  const directories = new Set<string>();
  const addDirectory = (path: string): void => {
    if (path === directory || directories.has(path)) return;
    addDirectory(parentOf(path));
    directories.add(path);
  };
  for (const relative of given.directories) addDirectory(joinPath(directory, relative));
  const files = given.files.map(({ file, relative }) => {
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
export function topNames(given: Given): ReadonlySet<string> {
  const all = [...given.files.map(({ relative }) => relative), ...given.directories];
  return new Set(all.map((relative) => relative.split("/")[0]!));
}
