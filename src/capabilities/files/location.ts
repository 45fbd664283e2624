import { type Stats, statSync } from "node:fs";
import { lstat, realpath, stat } from "node:fs/promises";
import { uriFromPath } from "../../base/file-uri.ts";
import { resultOr } from "../../native/result-or.ts";
import { type CheckedPath, type FileAccess, freeAccess } from "./file-access.ts";
import { linkFree } from "./link-free.ts";
import { statNoFollow } from "./no-follow.ts";
import {
  joinPath,
  type NativePath,
  pathComponents,
  pathKey,
  showPath,
  splitPath,
  textOrBytes,
} from "./native-path.ts";

/**
 * A path with its access rules. File operations take only locations, and only `server/files/locations.ts` turns a path
 * into one. Access is checked at each use, because the targets of links may change at any time.
 */
export class Location {
  readonly #path: NativePath;
  readonly #access: FileAccess;

  constructor(path: NativePath, access: FileAccess) {
    this.#path = path;
    this.#access = access;
  }

  /** The path for people and messages. */
  get shown(): string {
    return showPath(this.#path);
  }

  /** The path for the wire. */
  get uri(): string {
    return uriFromPath(this.#path);
  }

  /** The path as comparable text, whether or not it is UTF-8. */
  get key(): string {
    return pathKey(this.#path);
  }

  /** The path's last name; `.` for the root directory. */
  get name(): NativePath {
    return splitPath(this.#path).name;
  }

  /** The directory that contains it; the root directory is its own parent. */
  get parent(): Location {
    return new Location(splitPath(this.#path).directory, this.#access);
  }

  /** See `FileAccess`. */
  get isTrusted(): boolean {
    return this.#access.isTrusted;
  }

  get followsLinks(): boolean {
    return this.#access.followsLinks;
  }

  get isTop(): boolean {
    return this.#path.length === 1;
  }

  /** An entry of a directory. */
  child(name: NativePath): Location {
    return new Location(joinPath(this.#path, name), this.#access);
  }

  /** The same location, by a path without links. */
  withoutLinks(): Location {
    return new Location(this.#path, linkFree(this.#access));
  }

  /** The target, if access is confined: a path without links, which need not exist. */
  resolved(): Location {
    return new Location(this.check(FOLLOWED).path, this.#access);
  }

  /** The directory, with links resolved if access is confined, then its parents, as far as access reaches. */
  upwards(): Location[] {
    return this.#upwardsFrom(this.check(FOLLOWED).path);
  }

  /** The same by the path without any links. */
  async realUpwards(): Promise<Location[]> {
    return this.#upwardsFrom(await this.realPath());
  }

  #upwardsFrom(path: NativePath): Location[] {
    const locations = [new Location(path, this.#access)];
    const depth = pathComponents(path).length;
    for (let above = depth - (this.#access.depthOfTop(path) ?? depth); above > 0; above -= 1)
      locations.push(locations.at(-1)!.parent);
    return locations;
  }

  /** The names of its path, how many of them lead to where access begins, and whether access is confined at all. */
  way(): { names: readonly NativePath[]; depthOfTop: number; isBounded: boolean } {
    const names = pathComponents(this.#path);
    const depthOfTop = this.#access.depthOfTop(this.#path) ?? names.length;
    return { names, depthOfTop, isBounded: this.#access.isBounded };
  }

  /** The path for one use. */
  check(options: { followSymlinks: boolean }): CheckedPath {
    return this.#access.check(this.#path, options);
  }

  /** Works on the entry itself, even if it is a link. */
  onEntry<T>(work: (path: NativePath) => T): T {
    return this.#access.onEntry(this.#path, work);
  }

  /** Works on the path's target. */
  onTarget<T>(options: { followSymlinks: boolean; create?: boolean }, work: (path: NativePath) => T): T {
    return this.#access.onTarget(this.#path, options, work);
  }

  /** Throws if access to what was opened is forbidden. */
  checkOpened(fd: number): void {
    this.#access.checkOpened(fd, this.#path);
  }

  /** Throws for a location that must not be changed. */
  checkChange(): void {
    this.#access.checkChange(this.#path);
  }

  async stat(): Promise<Stats> {
    return this.onTarget(FOLLOWED, (path) => stat(path));
  }

  async lstat(): Promise<Stats> {
    return this.onEntry((path) => lstat(path));
  }

  /** Whether the last name is a link, even one that leads outside the allowed roots. */
  async isLink(): Promise<boolean> {
    const { isSymlink } = this.check(FOLLOWED);
    return isSymlink ?? (await this.lstat()).isSymbolicLink();
  }

  /** Undefined if it does not exist or cannot be reached. */
  statIfExists(): Stats | undefined {
    return resultOr(undefined, () =>
      this.onTarget(FOLLOWED, (path) => statSync(path, { throwIfNoEntry: false })),
    );
  }

  /** The path without any links. */
  async realPath(): Promise<NativePath> {
    const { path, followSymlinks } = this.check(FOLLOWED);
    if (followSymlinks) return textOrBytes(await realpath(path, { encoding: "buffer" }));
    // Links have been followed. The system would follow one that has taken the place of a directory since.
    statNoFollow(path);
    return path;
  }
}

const FOLLOWED = { followSymlinks: true };

/**
 * A location that the server itself has chosen, such as the directory of its settings. Never use it for a path from a
 * client.
 */
export function ownLocation(path: string): Location {
  return new Location(path, freeAccess);
}
