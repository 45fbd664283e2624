import { closeSync, realpathSync, statSync } from "node:fs";
import { CapabilityError, UsageError } from "../../base/errors.ts";
import { ERRNO, osError } from "../../native/os-error.ts";
import { resultOr } from "../../native/result-or.ts";
import { withCleanUp } from "./clean-up.ts";
import type { CheckedPath, FileAccess } from "./file-access.ts";
import { fileError, invalidInput } from "./file-error.ts";
import { fileSystemOf, PROC } from "./file-systems.ts";
import { LinkWalk, type Resolved } from "./link-walk.ts";
import { joinPath, type NativePath, pathComponents, pathKey, showPath, textOrBytes } from "./native-path.ts";
import { createFileAt, inParent, openEntryAt } from "./no-follow.ts";
import type { OwnFiles } from "./own-files.ts";

/**
 * Access to given directories and their contents. Links are followed here, one at a time, and each directory is opened
 * relative to its parent, so what is checked is what is used: a rename cannot bypass the check. /proc is outside every
 * root, because it shows the server's own secrets. So are the server's own files, wherever they appear.
 */
export class AllowedRoots implements FileAccess {
  readonly isBounded = true;
  readonly isTrusted = false;
  readonly followsLinks = true;
  /** Each root as its names, topmost first. */
  readonly #roots: readonly (readonly string[])[];
  readonly #deepest: number;
  readonly #own: Pick<OwnFiles, "has"> | undefined;

  /** Throws a UsageError, which names the setting, if a root is not a directory. */
  constructor(
    roots: readonly string[],
    { setting = "fsRoots", own }: { readonly setting?: string; readonly own?: Pick<OwnFiles, "has"> } = {},
  ) {
    this.#own = own;
    const names = roots.map((root) => pathComponents(realDirectory(root, setting)).map(pathKey));
    this.#roots = names.sort((left, right) => left.length - right.length);
    this.#deepest = names.at(-1)?.length ?? 0;
  }

  check(path: NativePath, { followSymlinks }: { followSymlinks: boolean }): CheckedPath {
    if (!followSymlinks) {
      // Links will be refused and dots are resolved, so the text is the real location.
      if (this.depthOfTop(path) === undefined || this.#isRefusedEntry(path)) throw outside(path);
      return { path, followSymlinks };
    }
    const { names, isSymlink } = this.#resolve(path, { followSymlinks }, (resolved) => resolved);
    return { path: join(names), followSymlinks: false, isSymlink };
  }

  onEntry<T>(path: NativePath, work: (path: NativePath) => T): T {
    return this.#resolve(path, { followSymlinks: false }, ({ names, missing, parent }) => {
      if (missing > 1) throw osError(ERRNO.ENOENT);
      return work(joinPath(`/proc/self/fd/${parent}`, names.at(-1) ?? "."));
    });
  }

  onTarget<T>(
    path: NativePath,
    options: { followSymlinks: boolean; create?: boolean },
    work: (path: NativePath) => T,
  ): T {
    return this.#resolve(path, options, ({ names, missing, parent, target, isSymlink }) => {
      if (target !== undefined) {
        if (isSymlink && !options.followSymlinks) throw invalidInput("path contains a symbolic link");
        return work(`/proc/self/fd/${target}`);
      }
      if (missing > 1 || options.create !== true) throw osError(ERRNO.ENOENT);
      const created = createFileAt(parent, names.at(-1)!);
      return withCleanUp(
        () => work(`/proc/self/fd/${created}`),
        () => closeSync(created),
      );
    });
  }

  checkChange(path: NativePath): void {
    const { names } = this.#resolve(path, { followSymlinks: false }, (resolved) => resolved);
    const keys = names.map(pathKey);
    if (this.#roots.some((root) => keys.every((key, index) => key === root[index])))
      throw new CapabilityError(
        "PERMISSION_DENIED",
        `path \`${showPath(path)}\` is a root of this server and cannot be removed or changed`,
      );
  }

  checkOpened(fd: number, path: NativePath): void {
    if (this.#own?.has(fd)) throw outside(path);
  }

  depthOfTop(path: NativePath): number | undefined {
    return this.#rootOf(pathComponents(path))?.length;
  }

  /** The widest root that contains these names. */
  #rootOf(names: readonly NativePath[]): readonly string[] | undefined {
    const keys = names.slice(0, this.#deepest).map(pathKey);
    return this.#roots.find((root) => root.every((key, index) => key === keys[index]));
  }

  #isRefused(fd: number): boolean {
    return fileSystemOf(fd) === PROC || this.#own?.has(fd) === true;
  }

  /**
   * For a path without links: a directory on which a file system is mounted cannot be replaced by a link, and what is
   * opened is checked again.
   */
  #isRefusedEntry(path: NativePath): boolean {
    const above = pathComponents(path).slice(0, -1).length;
    const isRefusedIn = (parent: number, name: NativePath): boolean => {
      if (above >= (this.depthOfTop(path) ?? 0) && this.#own?.has(parent)) return true;
      const entry = openEntryAt(parent, name);
      return withCleanUp(
        () => this.#isRefused(entry),
        () => closeSync(entry),
      );
    };
    // If it fails, the operation will say why.
    return resultOr(false, () => inParent(path, isRefusedIn));
  }

  /** The descriptors are closed when `use` is done. */
  #resolve<T>(
    path: NativePath,
    { followSymlinks }: { followSymlinks: boolean },
    use: (resolved: Resolved) => T,
  ): T {
    const walk = new LinkWalk(path, (directory) => {
      // Its links reveal which program the server is, where it runs, and what it has open.
      if (fileSystemOf(directory) === PROC) throw outside(path);
    });
    let resolved: Resolved;
    try {
      resolved = walk.run(followSymlinks);
    } catch (error) {
      // Reveals nothing about paths outside, not even whether they exist.
      throw this.#rootOf(walk.names) === undefined ? outside(path) : fileError(error);
    }
    return withCleanUp(
      () => {
        const { names, target, parent } = resolved;
        const root = this.#rootOf(names);
        if (root === undefined || this.#isRefused(target ?? parent)) throw outside(path);
        // The directory of a root itself may be the server's, too.
        if (names.length > root.length) this.checkOpened(parent, path);
        return use(resolved);
      },
      () => {
        closeSync(resolved.parent);
        if (resolved.target !== undefined) closeSync(resolved.target);
      },
    );
  }
}

function realDirectory(root: string, setting: string): NativePath {
  try {
    const real = realpathSync.native(root, { encoding: "buffer" });
    if (statSync(real).isDirectory()) return real;
  } catch (cause) {
    throw new UsageError(`${setting}: ${root}: ${(fileError(cause) as Error).message}`);
  }
  throw new UsageError(`${setting}: ${root} is not a directory`);
}

function outside(path: NativePath): CapabilityError {
  return new CapabilityError(
    "PERMISSION_DENIED",
    `path \`${showPath(path)}\` is outside the roots that this server serves (fsRoots)`,
  );
}

function join(names: readonly NativePath[]): NativePath {
  if (names.every((name) => typeof name === "string")) return `/${names.join("/")}`;
  const parts = names.flatMap((name) => [Buffer.from("/"), Buffer.from(name)]);
  return textOrBytes(Buffer.concat(parts));
}
