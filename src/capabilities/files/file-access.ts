import type { NativePath } from "./native-path.ts";

/** A path that was looked at, and whether links in it may be followed. */
export interface CheckedPath {
  readonly path: NativePath;
  readonly followSymlinks: boolean;
  /** Whether the last name of the path is a link, where following has been done already. */
  readonly isSymlink?: boolean;
}

/** What a `Place` may do with its path: everything, or only in some directories. Paths have no dots in them. What is refused throws. */
export interface FileAccess {
  /** For operations that take a path once. */
  check(path: NativePath, options: { followSymlinks: boolean }): CheckedPath;
  /** For an entry itself, be it a link: work on its name in its directory, wherever that is moved meanwhile. */
  onEntry<T>(path: NativePath, work: (path: NativePath) => T): T;
  /** For what is there, and nothing that takes its place. With `create` an empty file is made if there is nothing. */
  onTarget<T>(
    path: NativePath,
    options: { followSymlinks: boolean; create?: boolean },
    work: (path: NativePath) => T,
  ): T;
  /** Throws for a path that must stay as it is. */
  checkChange(path: NativePath): void;
  /** How many of its first names lead to where access begins: 0 for the top of all. Undefined for a path that is not in there, going by its text. */
  depthOfTop(path: NativePath): number | undefined;
}

/** Everywhere, as far as the system allows. */
export const freeAccess: FileAccess = {
  check: (path, { followSymlinks }) => ({ path, followSymlinks }),
  onEntry: (path, work) => work(path),
  onTarget: (path, _, work) => work(path),
  checkChange: () => {},
  depthOfTop: () => 0,
};
