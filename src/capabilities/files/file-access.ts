import type { NativePath } from "./native-path.ts";

/** A path to work on, and whether links in it may be followed. */
export interface Place {
  readonly path: NativePath;
  readonly followSymlinks: boolean;
  /** Whether the last name of the path is a link, where following has been done already. */
  readonly isSymlink?: boolean;
}

/** How file operations get at files: anywhere, or only in some places. What is refused throws. */
export interface FileAccess {
  /** For operations that take a path once. */
  place(path: NativePath, options: { followSymlinks: boolean }): Place;
  /** For an entry itself, be it a link: work on its name in its directory, wherever that is moved meanwhile. */
  onEntry<T>(path: NativePath, work: (path: NativePath) => T | Promise<T>): Promise<T>;
  /** For what is there, and nothing that takes its place. With `create` an empty file is made if there is nothing. */
  onTarget<T>(
    path: NativePath,
    options: { followSymlinks: boolean; create?: boolean },
    work: (path: NativePath) => T | Promise<T>,
  ): Promise<T>;
  /** Whether a path leads to where operations are allowed. */
  allows(path: NativePath): boolean;
  /** Throws for a path that must stay. */
  checkRemoval(path: NativePath): void;
}

/** Everywhere, as far as the system allows. */
export const freeAccess: FileAccess = {
  place: (path, { followSymlinks }) => ({ path, followSymlinks }),
  onEntry: async (path, work) => work(path),
  onTarget: async (path, _, work) => work(path),
  allows: () => true,
  checkRemoval: () => {},
};
