import type { NativePath } from "./native-path.ts";

/** A checked path, and whether its links may be followed. */
export interface CheckedPath {
  readonly path: NativePath;
  readonly followSymlinks: boolean;
  /** Whether the path's last name is a link, if links have already been followed. */
  readonly isSymlink?: boolean;
}

/**
 * What a `Location` may do with its path: everything, or only inside given directories. Paths contain no dots. Throws if
 * access is refused.
 */
export interface FileAccess {
  /** Whether only given directories can be reached. */
  readonly isBounded: boolean;
  /** False if the client must not leave set-user-ID programs behind, nor write kernel files: see `writing.ts`. */
  readonly isTrusted: boolean;
  /** False if a path must not contain links, whatever an operation follows otherwise. */
  readonly followsLinks: boolean;
  /** Checks a path for operations that use it once. */
  check(path: NativePath, options: { followSymlinks: boolean }): CheckedPath;
  /** Works on an entry itself, even if it is a link: by its name in its directory, even if the directory is moved. */
  onEntry<T>(path: NativePath, work: (path: NativePath) => T): T;
  /**
   * Works on the existing target, not on what may replace it. With `create`, a missing target is created as an empty
   * file.
   */
  onTarget<T>(
    path: NativePath,
    options: { followSymlinks: boolean; create?: boolean },
    work: (path: NativePath) => T,
  ): T;
  /** Throws if access to what was opened is forbidden, whatever its path. */
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
