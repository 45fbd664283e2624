import { closeSync, fstatSync, readlinkSync } from "node:fs";
import { ERRNO, osError } from "../../native/os-error.ts";
import { joinPath, type NativePath, pathComponents } from "./native-path.ts";
import { openDirectories, openExistingAt, tryDirectoryAt } from "./no-follow.ts";

/** The limit of Linux. */
const MAX_LINKS = 40;
/**
 * Maximum number of directories that one walk may open: the longest path has 2047 names, and each `..` in a link starts
 * again from the top. It bounds the time.
 */
const MAX_OPENED = 3000;

/** Target of a path. The caller closes the descriptors. */
export interface Resolved {
  /** Names from the root on, none of them a link, except the last if it was not to be followed. */
  readonly names: readonly NativePath[];
  /** Number of trailing names that do not exist. */
  readonly missing: number;
  /** The directory of the last existing name, or of the first missing one. */
  readonly parent: number;
  /** The target of the path, if it exists. */
  readonly target: number | undefined;
  readonly isSymlink: boolean;
}

/** Walks down a path from the root, one name at a time, and follows links itself. */
export class LinkWalk {
  readonly names: NativePath[] = [];
  /** Remaining names, the next one last. */
  readonly #pending: NativePath[];
  #directory = openDirectories([]);
  #opened = 0;
  #links = 0;
  #isSymlink = false;
  readonly #checkLink: (directory: number) => void;

  /** `checkLink` throws if the links of a directory may not be followed. */
  constructor(path: NativePath, checkLink: (directory: number) => void) {
    this.#pending = pathComponents(path).reverse();
    this.#checkLink = checkLink;
  }

  run(followLast: boolean): Resolved {
    try {
      for (let name = this.#pending.pop(); name !== undefined; name = this.#pending.pop()) {
        const resolved = this.#step(name, followLast);
        if (resolved !== undefined) return resolved;
      }
      // The root, or a link that ends in dots: a directory that was already entered.
      return this.#resolved(openDirectories(this.names));
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
      this.#spend(this.names.length + 1);
      this.#enter(openDirectories(this.names));
      return undefined;
    }
    this.#spend(1);
    const isLast = this.#pending.length === 0;
    const inner = isLast ? undefined : tryDirectoryAt(this.#directory, name);
    if (inner !== undefined) {
      this.names.push(name);
      this.#enter(inner);
      return undefined;
    }
    const entry = openExistingAt(this.#directory, name);
    if (entry === undefined) return this.#missing(name);
    const stat = fstatSync(entry);
    if (stat.isSymbolicLink() && isLast) this.#isSymlink = true;
    if (stat.isSymbolicLink() && (followLast || !isLast)) {
      closeSync(entry);
      this.#follow(name);
      return undefined;
    }
    if (!isLast && !stat.isDirectory()) {
      closeSync(entry);
      throw osError(ERRNO.ENOTDIR);
    }
    this.names.push(name);
    if (isLast) return this.#resolved(entry);
    this.#enter(entry);
    return undefined;
  }

  #spend(count: number): void {
    this.#opened += count;
    if (this.#opened > MAX_OPENED) throw osError(ERRNO.ELOOP);
  }

  #missing(name: NativePath): Resolved {
    this.names.push(name);
    let missing = 1;
    for (let next = this.#pending.pop(); next !== undefined; next = this.#pending.pop()) {
      const text = next.toString("latin1");
      // A missing directory has no parent.
      if (text === "..") throw osError(ERRNO.ENOENT);
      if (text === ".") continue;
      this.names.push(next);
      missing += 1;
    }
    return this.#resolved(undefined, missing);
  }

  #follow(name: NativePath): void {
    this.#links += 1;
    if (this.#links > MAX_LINKS) throw osError(ERRNO.ELOOP);
    this.#checkLink(this.#directory);
    const target = readlinkSync(joinPath(`/proc/self/fd/${this.#directory}`, name), { encoding: "buffer" });
    if (target[0] === "/".charCodeAt(0)) {
      this.names.length = 0;
      this.#enter(openDirectories([]));
    }
    for (const component of pathComponents(target).reverse()) this.#pending.push(component);
  }

  #enter(directory: number): void {
    closeSync(this.#directory);
    this.#directory = directory;
  }

  #resolved(target: number | undefined, missing = 0): Resolved {
    return { names: this.names, missing, parent: this.#directory, target, isSymlink: this.#isSymlink };
  }
}
