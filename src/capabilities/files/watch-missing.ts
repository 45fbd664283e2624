import { closeSync, type FSWatcher, fstatSync, watch } from "node:fs";
import { Turns } from "../turns.ts";
import { joinPath, type NativePath, pathKey } from "./native-path.ts";
import { openDirectories, openExistingAt, openLinkedDirectoryAt } from "./no-follow.ts";
import type { Location } from "./location.ts";
import { isSilent } from "./file-systems.ts";

export const MAX_WATCHED_PATHS = 64;
/** Maximum number of directories on all paths; each takes a kernel watch. */
const MAX_WATCHED_DIRECTORIES = 4096;

/**
 * Reports, once, when a missing path appears, when a directory on the way to it appears or disappears, or when
 * `present` is removed or changed. Undefined if that cannot be watched: a path already exists, a link or a file is on
 * its way, `present` does not exist, or there are too many. The returned function ends the watch.
 */
export async function watchMissing(
  missing: readonly Location[],
  present: Location | undefined,
  onChange: () => void,
): Promise<(() => void) | undefined> {
  if (missing.length === 0 || missing.length > MAX_WATCHED_PATHS) return undefined;
  const running = new RunningWatch(onChange);
  let isComplete = false;
  try {
    isComplete = await running.add(missing, present);
  } catch {
    // No watch is available: the system has no more, or a directory has disappeared or may not be searched.
  }
  if (isComplete) return () => running.close();
  running.close();
  return undefined;
}

/** Relevant events of a name: the missing one, and those on the way, matter when they appear or disappear. */
type Interest = "appear or go" | "anything";

class RunningWatch {
  readonly #directories = new Map<string, { watcher: FSWatcher; names: Map<string, Interest> }>();
  readonly #turns = new Turns();
  readonly #onChange: () => void;
  #isComplete = false;
  #isOver = false;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** False if they cannot all be watched, or something has happened meanwhile. */
  async add(missing: readonly Location[], present: Location | undefined): Promise<boolean> {
    for (const location of missing) if (!(await this.#addWay(location, "missing"))) return false;
    // Last, because a directory on the way to the others may be the present one, of which more events matter.
    if (present !== undefined && !(await this.#addWay(present, "present"))) return false;
    this.#isComplete = !this.#isOver;
    return this.#isComplete;
  }

  close(): void {
    this.#isOver = true;
    for (const { watcher } of this.#directories.values()) watcher.close();
  }

  /**
   * Walks down to a location, each directory opened relative to its parent. A directory is watched before its entry is
   * looked up, so that no change goes unseen. If access is confined, nothing above the roots is watched.
   */
  async #addWay(location: Location, expected: "missing" | "present"): Promise<boolean> {
    const { names, depthOfTop, isBounded } = location.way();
    let directory = openDirectories([]);
    let path: NativePath = "/";
    try {
      for (const [index, name] of names.entries()) {
        if (this.#turns.over) await this.#turns.next();
        if (this.#isOver) return false;
        const interests = index < depthOfTop ? undefined : this.#watch(pathOf(directory), path);
        const isLast = index === names.length - 1;
        interests?.set(pathKey(name), isLast && expected === "present" ? "anything" : "appear or go");
        const entry = openExistingAt(directory, name);
        if (entry === undefined) return expected === "missing" && interests !== undefined;
        if (isLast) {
          const isWatchable = !fstatSync(entry).isSymbolicLink() && !isSilent(pathOf(entry));
          closeSync(entry);
          return expected === "present" && interests !== undefined && isWatchable;
        }
        const inner = enter(directory, name, entry, { followLink: expected === "present" && !isBounded });
        closeSync(directory);
        directory = inner;
        path = joinPath(path, name);
      }
      return false;
    } finally {
      closeSync(directory);
    }
  }

  /** The relevant names in a directory, which is watched from now on. */
  #watch(directory: NativePath, path: NativePath): Map<string, Interest> {
    const key = pathKey(path);
    const known = this.#directories.get(key);
    if (known !== undefined) return known.names;
    if (this.#directories.size >= MAX_WATCHED_DIRECTORIES || isSilent(directory))
      throw new Error("too many directories, or one that reports nothing");
    const names = new Map<string, Interest>();
    // Events of the directory itself are reported under the last name of this path. No entry has this name.
    const watcher = watch(joinPath(directory, "."), { persistent: false, encoding: "buffer" });
    watcher.on("change", (type, name) => {
      const interest = names.get(pathKey(Buffer.from(name)));
      if (interest === "anything" || (interest === "appear or go" && type === "rename")) this.#fire();
    });
    watcher.on("error", () => this.#fire());
    this.#directories.set(key, { watcher, names });
    return names;
  }

  #fire(): void {
    if (this.#isOver) return;
    this.close();
    // Until it is complete, the answer says that there is no watch, so no client waits for it.
    if (this.#isComplete) this.#onChange();
  }
}

/** The directory that an entry is, or leads to. Closes the entry if it is a different one. */
function enter(
  directory: number,
  name: NativePath,
  entry: number,
  { followLink }: { followLink: boolean },
): number {
  const stat = fstatSync(entry);
  if (stat.isDirectory()) return entry;
  closeSync(entry);
  if (stat.isSymbolicLink() && followLink) return openLinkedDirectoryAt(directory, name);
  throw new Error("not a directory");
}

function pathOf(descriptor: number): NativePath {
  return `/proc/self/fd/${descriptor}`;
}
