import { type FSWatcher, lstatSync, type Stats, watch } from "node:fs";
import { joinPath, type NativePath, pathComponents } from "./native-path.ts";
import { isSilent } from "./silent-file-systems.ts";

export const MAX_WATCHED_PATHS = 64;

/**
 * Tells, once, when a path that is missing appears, when a directory on the way to it appears or goes, or when `present` is removed or changed. Undefined when it
 * cannot be told: a path exists already, a link or a file is on its way, `present` does not exist, or there are too many. The function returned ends
 * the watch.
 */
export function watchMissing(
  missing: readonly NativePath[],
  present: NativePath | undefined,
  onChange: () => void,
): (() => void) | undefined {
  if (missing.length === 0 || missing.length > MAX_WATCHED_PATHS) return undefined;
  const plan = new WatchPlan();
  if (!missing.every((path) => plan.addMissing(path))) return undefined;
  if (present !== undefined && !plan.addPresent(present)) return undefined;
  const running = new RunningWatch(plan, onChange);
  // What changed between the look and the watch is not told by it.
  const stillMissing = missing.every((path) => look(path) === undefined);
  if (running.failed || !stillMissing) {
    running.close();
    return undefined;
  }
  return () => running.close();
}

/** What may happen to a name: directories on the way matter when they go, the path itself whatever happens. */
type Interest = "appear or go" | "anything";

/** Which names of which directories matter. */
class WatchPlan {
  readonly directories = new Map<string, { path: NativePath; names: Map<string, Interest> }>();

  /** False when the path exists, or cannot come to exist where it is. */
  addMissing(path: NativePath): boolean {
    let directory: NativePath = "/";
    for (const name of pathComponents(path)) {
      const inner = joinPath(directory, name);
      const stat = look(inner);
      if (stat === "unknown" || isSilent(directory)) return false;
      this.#add(directory, name, stat === undefined ? "anything" : "appear or go");
      if (stat === undefined) return true;
      if (!stat.isDirectory()) return false;
      directory = inner;
    }
    return false;
  }

  addPresent(path: NativePath): boolean {
    const stat = look(path);
    if (stat === undefined || stat === "unknown" || stat.isSymbolicLink() || isSilent(path)) return false;
    const names = pathComponents(path);
    let directory: NativePath = "/";
    for (const [index, name] of names.entries()) {
      this.#add(directory, name, index === names.length - 1 ? "anything" : "appear or go");
      directory = joinPath(directory, name);
    }
    return true;
  }

  #add(directory: NativePath, name: NativePath, interest: Interest): void {
    const key = directory.toString("latin1");
    const found = this.directories.get(key) ?? { path: directory, names: new Map<string, Interest>() };
    this.directories.set(key, found);
    const nameKey = Buffer.from(name).toString("latin1");
    if (found.names.get(nameKey) !== "anything") found.names.set(nameKey, interest);
  }
}

class RunningWatch {
  readonly #watchers: FSWatcher[] = [];
  readonly #onChange: () => void;
  failed = false;

  constructor(plan: WatchPlan, onChange: () => void) {
    this.#onChange = onChange;
    try {
      for (const { path, names } of plan.directories.values()) this.#watch(path, names);
    } catch {
      // No watch is to be had: the system has no more of them, or the directory is gone again.
      this.failed = true;
    }
  }

  close(): void {
    for (const watcher of this.#watchers) watcher.close();
    this.#watchers.length = 0;
  }

  #watch(directory: NativePath, names: ReadonlyMap<string, Interest>): void {
    const watcher = watch(directory, { persistent: false, encoding: "buffer" });
    watcher.on("change", (type, name) => {
      const interest = names.get(Buffer.from(name).toString("latin1"));
      if (interest === "anything" || (interest === "appear or go" && type === "rename")) this.#fire();
    });
    watcher.on("error", () => this.#fire());
    this.#watchers.push(watcher);
  }

  #fire(): void {
    if (this.#watchers.length === 0) return;
    this.close();
    this.#onChange();
  }
}

function look(path: NativePath): Stats | "unknown" | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    // Below a file, too long a name, or a directory that may not be searched.
    return "unknown";
  }
}
