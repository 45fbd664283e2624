import { closeSync, fstatSync, readlinkSync } from "node:fs";
import { CapabilityError } from "../../base/errors.ts";
import { ERRNO, osError } from "../../native/os-error.ts";
import { joinPath, type NativePath, pathComponents } from "./native-path.ts";
import { openDirectories, openEntryAt, tryDirectoryAt } from "./no-follow.ts";

/** The limit of Linux. */
const MAX_LINKS = 40;
/**
 * Maximum number of directories that one walk may open: the longest path has 2047 names, and each `..` in a link starts
 * again from the top. It bounds the time.
 */
const MAX_OPENED = 3000;

/** Where a path leads. The caller closes the descriptors. */
export interface Resolved {
  /** Names from the root on, none of them a link, except the last if it was not to be followed. */
  readonly names: readonly NativePath[];
  /** How many of the last names do not exist. */
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
        const found = this.#step(name, followLast);
        if (found !== undefined) return found;
      }
      // The root, or a link that ends in dots: a directory that was already entered.
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

  #spend(count: number): void {
    this.#opened += count;
    if (this.#opened > MAX_OPENED) throw osError(ERRNO.ELOOP);
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
    this.names.push(name);
    let missing = 1;
    for (let next = this.#pending.pop(); next !== undefined; next = this.#pending.pop()) {
      const text = next.toString("latin1");
      // There is no parent of a missing directory.
      if (text === "..") throw osError(ERRNO.ENOENT);
      if (text === ".") continue;
      this.names.push(next);
      missing += 1;
    }
    return this.#resolved({ parent: this.#directory, target: undefined, missing });
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
