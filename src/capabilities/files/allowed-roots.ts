import { closeSync, fstatSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { CapabilityError, UsageError } from "../../base/errors.ts";
import { ERRNO, osError } from "../os-error.ts";
import type { FileAccess, Place } from "./file-access.ts";
import { fileError, invalidInput } from "./file-error.ts";
import { joinPath, type NativePath, pathComponents, showPath } from "./native-path.ts";
import { createFileAt, openDirectories, openEntryAt } from "./no-follow.ts";

/** As many as Linux follows. */
const MAX_LINKS = 40;

/** Where a path leads. The descriptors are the caller's to close. */
interface Resolved {
  /** Names from the root on, none of them a link, except the last when it was not to be followed. */
  readonly names: readonly NativePath[];
  /** How many of the last names do not exist. */
  readonly missing: number;
  /** The directory that the last name that exists, or the first that does not, is in. */
  readonly parent: number;
  /** What the path leads to, if it exists. */
  readonly target: number | undefined;
  readonly isSymlink: boolean;
}

/**
 * Access to some directories and what is in them. Links are followed here, one at a time, and each directory is opened from the one before it, so what is
 * checked is what is used: a rename cannot outrun it.
 */
export class AllowedRoots implements FileAccess {
  readonly #roots: readonly (readonly string[])[];

  /** Throws a UsageError when a root is no directory. */
  constructor(roots: readonly string[]) {
    this.#roots = roots.map((root) => keysOf(pathComponents(realDirectory(root))));
  }

  place(path: NativePath, { followSymlinks }: { followSymlinks: boolean }): Place {
    if (!followSymlinks) {
      // Links will be refused, so the text is where it leads.
      if (!this.#contains(pathComponents(path))) throw outside(path);
      return { path, followSymlinks };
    }
    const { names, isSymlink } = this.#resolve(path, { followSymlinks }, (resolved) => resolved);
    return { path: join(names), followSymlinks: false, isSymlink };
  }

  async onEntry<T>(path: NativePath, work: (path: NativePath) => T | Promise<T>): Promise<T> {
    return this.#resolve(path, { followSymlinks: false }, async ({ names, missing, parent }) => {
      if (missing > 1) throw osError(ERRNO.ENOENT);
      return work(joinPath(`/proc/self/fd/${parent}`, names.at(-1) ?? "."));
    });
  }

  async onTarget<T>(
    path: NativePath,
    options: { followSymlinks: boolean; create?: boolean },
    work: (path: NativePath) => T | Promise<T>,
  ): Promise<T> {
    return this.#resolve(path, options, async ({ names, missing, parent, target, isSymlink }) => {
      if (target !== undefined) {
        if (isSymlink && !options.followSymlinks) throw invalidInput("path contains a symbolic link");
        return work(`/proc/self/fd/${target}`);
      }
      if (missing > 1 || options.create !== true) throw osError(ERRNO.ENOENT);
      const created = createFileAt(parent, names.at(-1)!);
      try {
        return await work(`/proc/self/fd/${created}`);
      } finally {
        closeSync(created);
      }
    });
  }

  allows(path: NativePath): boolean {
    try {
      return this.#resolve(path, { followSymlinks: true }, () => true);
    } catch {
      // Outside, or a link that leads nowhere.
      return false;
    }
  }

  checkRemoval(path: NativePath): void {
    const { names } = this.#resolve(path, { followSymlinks: false }, (resolved) => resolved);
    const keys = keysOf(names);
    if (this.#roots.some((root) => keys.every((key, index) => key === root[index])))
      throw new CapabilityError(
        "PERMISSION_DENIED",
        `path \`${showPath(path)}\` is a root of this server and cannot be removed`,
      );
  }

  #contains(names: readonly NativePath[]): boolean {
    const keys = keysOf(names);
    return this.#roots.some((root) => root.every((key, index) => key === keys[index]));
  }

  /** The descriptors are closed when `use` is done with them. */
  #resolve<T>(
    path: NativePath,
    { followSymlinks }: { followSymlinks: boolean },
    use: (resolved: Resolved) => T,
  ): T {
    const walk = new LinkWalk(path);
    let resolved: Resolved;
    try {
      resolved = walk.run(followSymlinks);
    } catch (error) {
      // Of what is outside nothing is told, not even whether it exists.
      throw this.#contains(walk.names) ? fileError(error) : outside(path);
    }
    const close = (): void => {
      closeSync(resolved.parent);
      if (resolved.target !== undefined) closeSync(resolved.target);
    };
    let result: T;
    try {
      if (!this.#contains(resolved.names)) throw outside(path);
      result = use(resolved);
    } catch (error) {
      close();
      throw error;
    }
    if (result instanceof Promise) return result.finally(close) as T;
    close();
    return result;
  }
}

/** Goes down a path from the root, a name at a time. */
class LinkWalk {
  readonly names: NativePath[] = [];
  /** What is still to go, the next name last. */
  readonly #pending: NativePath[];
  #directory = openDirectories([]);
  #links = 0;
  #isSymlink = false;

  constructor(path: NativePath) {
    this.#pending = pathComponents(path).reverse();
  }

  run(followLast: boolean): Resolved {
    try {
      for (let name = this.#pending.pop(); name !== undefined; name = this.#pending.pop()) {
        const found = this.#step(name, followLast);
        if (found !== undefined) return found;
      }
      // The root, or a link that ends in dots: a directory that was entered already.
      return this.#resolved({ parent: this.#directory, target: openDirectories(this.names) });
    } catch (error) {
      closeSync(this.#directory);
      throw error;
    }
  }

  #step(name: NativePath, followLast: boolean): Resolved | undefined {
    const text = name.toString("latin1");
    if (text === ".") return undefined;
    if (text === "..") {
      this.names.pop();
      this.#enter(openDirectories(this.names));
      return undefined;
    }
    const isLast = this.#pending.length === 0;
    const entry = this.#open(name);
    if (entry === undefined) return this.#missing(name);
    const stat = fstatSync(entry);
    if (stat.isSymbolicLink() && isLast) this.#isSymlink = true;
    if (stat.isSymbolicLink() && (followLast || !isLast)) {
      closeSync(entry);
      this.#follow(name);
      return undefined;
    }
    if (isLast) {
      this.names.push(name);
      return this.#resolved({ parent: this.#directory, target: entry });
    }
    if (!stat.isDirectory()) {
      closeSync(entry);
      throw osError(ERRNO.ENOTDIR);
    }
    this.names.push(name);
    this.#enter(entry);
    return undefined;
  }

  #open(name: NativePath): number | undefined {
    try {
      return openEntryAt(this.#directory, name);
    } catch (error) {
      if (error instanceof CapabilityError && error.errno === "ENOENT") return undefined;
      throw error;
    }
  }

  #missing(name: NativePath): Resolved {
    const rest = [name, ...this.#pending.reverse()];
    this.names.push(...rest);
    // There is no way back from where there is no way to.
    if (keysOf(rest).some((key) => key === "..")) throw osError(ERRNO.ENOENT);
    return this.#resolved({ parent: this.#directory, target: undefined, missing: rest.length });
  }

  #follow(name: NativePath): void {
    this.#links += 1;
    if (this.#links > MAX_LINKS) throw osError(ERRNO.ELOOP);
    const target = readlinkSync(joinPath(`/proc/self/fd/${this.#directory}`, name), { encoding: "buffer" });
    if (target[0] === "/".charCodeAt(0)) {
      this.names.length = 0;
      this.#enter(openDirectories([]));
    }
    this.#pending.push(...pathComponents(target).reverse());
  }

  #enter(directory: number): void {
    closeSync(this.#directory);
    this.#directory = directory;
  }

  #resolved({
    parent,
    target,
    missing = 0,
  }: {
    parent: number;
    target: number | undefined;
    missing?: number;
  }): Resolved {
    return { names: this.names, missing, parent, target, isSymlink: this.#isSymlink };
  }
}

function realDirectory(root: string): NativePath {
  try {
    const real = realpathSync.native(root, { encoding: "buffer" });
    if (statSync(real).isDirectory()) return real;
  } catch (cause) {
    throw new UsageError(`fsRoots: ${root}: ${(fileError(cause) as Error).message}`);
  }
  throw new UsageError(`fsRoots: ${root} is not a directory`);
}

function outside(path: NativePath): CapabilityError {
  return new CapabilityError(
    "PERMISSION_DENIED",
    `path \`${showPath(path)}\` is outside the roots that this server serves (fsRoots)`,
  );
}

/** Names as text that can be compared, whether they are UTF-8 or not. */
function keysOf(names: readonly NativePath[]): string[] {
  return names.map((name) => Buffer.from(name).toString("latin1"));
}

function join(names: readonly NativePath[]): NativePath {
  const path = names.reduce<NativePath>(joinPath, "/");
  if (typeof path === "string") return path;
  const text = path.toString("utf8");
  return Buffer.from(text).equals(path) ? text : path;
}
