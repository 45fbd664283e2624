import { type Stats, statSync } from "node:fs";
import { lstat, realpath, stat } from "node:fs/promises";
import { uriFromPath } from "../../base/file-uri.ts";
import { type CheckedPath, type FileAccess, freeAccess } from "./file-access.ts";
import {
  joinPath,
  type NativePath,
  pathComponents,
  showPath,
  splitPath,
  textOrBytes,
} from "./native-path.ts";

/**
 * A path with the access that goes with it. File operations take places and nothing else; a path of the wire becomes one in `server/places.ts` alone. Whatever is
 * done with a place is checked when it is done: where links lead may change at any time.
 */
export class Place {
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

  /** The path as text that can be compared, whether it is UTF-8 or not. */
  get key(): string {
    return Buffer.from(this.#path).toString("latin1");
  }

  /** Its last name; `.` for the top of all. */
  get name(): NativePath {
    return splitPath(this.#path).name;
  }

  /** The directory that it is in; the top of all is in itself. */
  get parent(): Place {
    return new Place(splitPath(this.#path).directory, this.#access);
  }

  get isTop(): boolean {
    return this.#path.length === 1;
  }

  /** What a directory has under a name. */
  child(name: NativePath): Place {
    return new Place(joinPath(this.#path, name), this.#access);
  }

  /** Where it leads, where access has bounds: a path without links, all of which need not exist. */
  resolved(): Place {
    return new Place(this.check(FOLLOWED).path, this.#access);
  }

  /** The directory, links resolved where access has bounds, then those it is in, as far as access reaches. */
  upwards(): Place[] {
    return this.#upwardsFrom(this.check(FOLLOWED).path);
  }

  /** The same by the path without any link in it. */
  async realUpwards(): Promise<Place[]> {
    return this.#upwardsFrom(await this.realPath());
  }

  #upwardsFrom(path: NativePath): Place[] {
    const places = [new Place(path, this.#access)];
    const depth = pathComponents(path).length;
    for (let above = depth - (this.#access.depthOfTop(path) ?? depth); above > 0; above -= 1)
      places.push(places.at(-1)!.parent);
    return places;
  }

  /** The names that lead to it, how many of them lead to where access begins, and whether there is anything that it does not reach. */
  way(): { names: readonly NativePath[]; depthOfTop: number; isBounded: boolean } {
    const names = pathComponents(this.#path);
    const depthOfTop = this.#access.depthOfTop(this.#path) ?? names.length;
    return { names, depthOfTop, isBounded: this.#access !== freeAccess };
  }

  /** The path for one use. */
  check(options: { followSymlinks: boolean }): CheckedPath {
    return this.#access.check(this.#path, options);
  }

  /** For the entry itself, be it a link. */
  onEntry<T>(work: (path: NativePath) => T): T {
    return this.#access.onEntry(this.#path, work);
  }

  /** For what the path leads to. */
  onTarget<T>(options: { followSymlinks: boolean; create?: boolean }, work: (path: NativePath) => T): T {
    return this.#access.onTarget(this.#path, options, work);
  }

  /** Throws for a place that must stay as it is. */
  checkChange(): void {
    this.#access.checkChange(this.#path);
  }

  async stat(): Promise<Stats> {
    return this.onTarget(FOLLOWED, (path) => stat(path));
  }

  async lstat(): Promise<Stats> {
    return this.onEntry((path) => lstat(path));
  }

  /** Whether the last name is a link, also one that lies where access does not reach. */
  async isLink(): Promise<boolean> {
    const { isSymlink } = this.check(FOLLOWED);
    return isSymlink ?? (await this.lstat()).isSymbolicLink();
  }

  /** Undefined for what is not there, or cannot be reached. */
  statOrNothing(): Stats | undefined {
    try {
      return this.onTarget(FOLLOWED, (path) => statSync(path, { throwIfNoEntry: false }));
    } catch {
      return undefined;
    }
  }

  /** The path without any link in it. */
  async realPath(): Promise<NativePath> {
    return textOrBytes(await this.onTarget(FOLLOWED, (path) => realpath(path, { encoding: "buffer" })));
  }
}

const FOLLOWED = { followSymlinks: true };

/** A place that the server itself has chosen, such as the directory of its settings. Nothing that comes from a client may go this way. */
export function ownPlace(path: string): Place {
  return new Place(path, freeAccess);
}
