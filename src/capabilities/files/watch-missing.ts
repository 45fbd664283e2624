import { type FSWatcher, lstatSync, type Stats, watch } from "node:fs";
import { type NativePath, splitPath } from "./native-path.ts";

export const MAX_WATCHED_PATHS = 64;

/**
 * Tells, once, when a path that is missing appears, or a directory on the way to it, or when `present` is removed or changed. Undefined when there is nothing to
 * watch: a path exists already, `present` does not, or there are too many. The function returned ends the watch.
 */
export function watchMissing(
  missing: readonly NativePath[],
  present: NativePath | undefined,
  onChange: () => void,
): (() => void) | undefined {
  if (missing.length === 0 || missing.length > MAX_WATCHED_PATHS) return undefined;
  const watched = new MissingWatch(missing, present, onChange);
  return watched.start() ? () => watched.close() : undefined;
}

class MissingWatch {
  readonly #missing: readonly NativePath[];
  readonly #present: NativePath | undefined;
  readonly #onChange: () => void;
  readonly #watchers: FSWatcher[] = [];
  #before: string | undefined;

  constructor(missing: readonly NativePath[], present: NativePath | undefined, onChange: () => void) {
    this.#missing = missing;
    this.#present = present;
    this.#onChange = onChange;
  }

  start(): boolean {
    const directories = new Map<string, NativePath>();
    for (const path of this.#missing) {
      if (identify(path) !== undefined) return false;
      const directory = nearestExisting(path);
      directories.set(directory.toString("latin1"), directory);
    }
    if (this.#present !== undefined) {
      if (identify(this.#present) === undefined) return false;
      const { directory } = splitPath(this.#present);
      directories.set(directory.toString("latin1"), directory);
    }
    this.#before = this.#state();
    try {
      for (const directory of directories.values()) this.#watch(directory);
    } catch {
      // No watch is to be had: out of inotify instances, or the directory is gone again.
      this.close();
      return false;
    }
    // Something may have changed between the look and the watch.
    if (this.#state() === this.#before) return true;
    this.close();
    return false;
  }

  close(): void {
    for (const watcher of this.#watchers) watcher.close();
    this.#watchers.length = 0;
  }

  #watch(directory: NativePath): void {
    const watcher = watch(directory, { persistent: false });
    watcher.on("change", () => this.#look());
    watcher.on("error", () => this.#fire());
    this.#watchers.push(watcher);
  }

  #look(): void {
    if (this.#watchers.length > 0 && this.#state() !== this.#before) this.#fire();
  }

  #fire(): void {
    if (this.#watchers.length === 0) return;
    this.close();
    this.#onChange();
  }

  /** Changes when anything does that was asked for. */
  #state(): string {
    const parts = this.#missing.map((path) => identify(path) ?? nearestExisting(path).toString("latin1"));
    if (this.#present !== undefined) parts.push(identify(this.#present) ?? "gone");
    return parts.join("\0");
  }
}

function identify(path: NativePath): string | undefined {
  const stat = look(path);
  return stat === undefined ? undefined : `${stat.dev}:${stat.ino}:${stat.mtimeMs}:${stat.size}`;
}

function nearestExisting(path: NativePath): NativePath {
  let current = path;
  while (look(current) === undefined && current.length > 1) current = splitPath(current).directory;
  return current;
}

function look(path: NativePath): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
