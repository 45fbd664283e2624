import type { NativePath } from "./native-path.ts";

/** A checked path, and whether its links may be followed. */
export interface CheckedPath {
  readonly path: NativePath;
  readonly followSymlinks: boolean;
  /** Whether the last name of the path is a link, if links have already been followed. */
  readonly isSymlink?: boolean;
}

/**
 * What a `Place` may do with its path: everything, or only inside given directories. Paths contain no dots. Throws if
 * access is refused.
 */
export interface FileAccess {
  /** Whether only given directories can be reached. */
  readonly isBounded: boolean;
  /** False for somebody who must not leave set-user-ID programs behind, nor change the kernel: see `writing.ts`. */
  readonly isTrusted: boolean;
  /** False if a path may have no links, whatever an operation follows otherwise. */
  readonly followsLinks: boolean;
  /** For operations that use a path once. */
  check(path: NativePath, options: { followSymlinks: boolean }): CheckedPath;
  /** For an entry itself, even if it is a link: work on its name in its directory, wherever that is moved meanwhile. */
  onEntry<T>(path: NativePath, work: (path: NativePath) => T): T;
  /** For the existing target, not for what may replace it. With `create`, an empty file is created if there is none. */
  onTarget<T>(
    path: NativePath,
    options: { followSymlinks: boolean; create?: boolean },
    work: (path: NativePath) => T,
  ): T;
  /** Throws if what was opened must not be reached, whatever its path is. */
  checkOpened(fd: number, path: NativePath): void;
  /** Throws for a path that must not be changed. */
  checkChange(path: NativePath): void;
  /**
   * How many leading names lead to where access begins: 0 for the root directory. Undefined for a path that is
   * textually outside.
   */
  depthOfTop(path: NativePath): number | undefined;
}

/** Access to everything that the system allows. */
export const freeAccess: FileAccess = {
  isBounded: false,
  isTrusted: true,
  followsLinks: true,
  check: (path, { followSymlinks }) => ({ path, followSymlinks }),
  onEntry: (path, work) => work(path),
  onTarget: (path, _, work) => work(path),
  checkOpened: () => {},
  checkChange: () => {},
  depthOfTop: () => 0,
};

/** The same inside a sandbox. */
export const sandboxedAccess: FileAccess = { ...freeAccess, isTrusted: false };
