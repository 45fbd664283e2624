import { type Dirent, type FSWatcher, lstatSync, statSync, watch } from "node:fs";
import { readdir } from "node:fs/promises";
import { CapabilityError } from "../../base/errors.ts";
import { Fifo } from "../../base/fifo.ts";
import { isErrno } from "../../native/os-error.ts";
import { resultOr } from "../../native/result-or.ts";
import { Turns } from "../turns.ts";
import { fileError } from "./file-error.ts";
import { joinPath, pathKey, textOrBytes } from "./native-path.ts";
import type { Location } from "./location.ts";
import { isSilent } from "./file-systems.ts";

/** Maximum number of directories per watch; each takes a kernel watch, of which a user has about ten thousand. */
const MAX_WATCHED_DIRECTORIES = 8192;
/** Maximum number of paths per notification; more is an overflow. */
const MAX_NOTICE_PATHS = 1024;
/** Maximum number of pending events; more is an overflow too. */
const MAX_PENDING_EVENTS = 16_384;
/** Changes come in bursts; they are collected for this long. */
const GATHER_MS = 25;

/** Paths that appeared, disappeared or changed. */
interface TreeChange {
  readonly locations: readonly Location[];
  /** Whether there were more changes than listed. */
  readonly overflow: boolean;
  /** The watched path is gone, and the watch has ended. */
  readonly ended: boolean;
}

export interface WatchOptions {
  /** Also watch subdirectories, except through links. */
  readonly recursive: boolean;
  /** Called with the changes since the last call; not called again before the promise settles. */
  readonly onChange: (change: TreeChange) => Promise<void>;
}

/** Reports changes of a file, or in a directory, until the returned function is called. */
export async function watchTree(location: Location, options: WatchOptions): Promise<() => void> {
  const tree = new TreeWatch(location, options);
  try {
    await tree.open();
  } catch (error) {
    tree.close();
    throw fileError(error);
  }
  return () => tree.close();
}

const FOLLOWED = { followSymlinks: true };

interface WatchedDirectory {
  readonly location: Location;
  readonly inode: number;
  readonly watcher: FSWatcher;
  /** Watched subdirectories. */
  readonly inner: Set<WatchedDirectory>;
}

interface TreeEvent {
  readonly directory: WatchedDirectory;
  readonly type: string;
  readonly name: Buffer;
}

/** Events of a directory itself are reported under the last name of the watched path. No entry has this name. */
const SELF = ".";

class TreeWatch {
  readonly #root: Location;
  readonly #options: WatchOptions;
  readonly #directories = new Map<string, WatchedDirectory>();
  readonly #changed = new Map<string, Location>();
  readonly #events = new Fifo<TreeEvent>();
  /** Directories with more events than could be kept. */
  readonly #unsure = new Set<WatchedDirectory>();
  #handling = false;
  #overflow = false;
  #ended = false;
  #closed = false;
  #notifying = false;
  #timer: NodeJS.Timeout | undefined;
  /** The only relevant name, if a file is watched. */
  #only: string | undefined;

  constructor(root: Location, options: WatchOptions) {
    this.#root = root;
    this.#options = options;
  }

  async open(): Promise<void> {
    const isDirectory = this.#root.onTarget(FOLLOWED, (path) => statSync(path)).isDirectory();
    // Programs replace files, which only the directory reports.
    if (!isDirectory) this.#only = pathKey(this.#root.name);
    const start = isDirectory ? this.#root : this.#root.parent;
    if (start.onTarget(FOLLOWED, isSilent))
      throw new CapabilityError("UNSUPPORTED", `${start.shown}: this file system does not report changes`);
    await this.#add(start, { recursive: isDirectory && this.#options.recursive, onEntry: () => {} });
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    for (const { watcher } of this.#directories.values()) watcher.close();
    this.#directories.clear();
  }

  /** Watches before listing, so that no change goes unseen. */
  async #add(
    start: Location,
    { recursive, onEntry }: { recursive: boolean; onEntry: (location: Location) => void },
  ): Promise<void> {
    const turns = new Turns();
    const pending = [start];
    for (let location = pending.pop(); location !== undefined && !this.#closed; location = pending.pop()) {
      if (this.#directories.has(location.key)) continue;
      try {
        this.#watch(location, { followSymlinks: location === this.#root || this.#only !== undefined });
        if (recursive)
          for (const entry of await list(location)) {
            if (turns.over) await turns.next();
            const inner = location.child(textOrBytes(entry.name as unknown as Buffer));
            onEntry(inner);
            if (entry.isDirectory()) pending.push(inner);
          }
      } catch (error) {
        // Below the first one, directories that disappear or may not be read are skipped.
        if (location === start || !isOutOfReach(error)) throw error;
      }
      if (turns.over) await turns.next();
    }
  }

  #watch(location: Location, options: { followSymlinks: boolean }): void {
    if (this.#directories.size >= MAX_WATCHED_DIRECTORIES)
      throw new CapabilityError(
        "OS_ERROR",
        `${this.#root.shown}: more than ${MAX_WATCHED_DIRECTORIES} directories cannot be watched`,
      );
    const { inode, watcher } = location.onTarget(options, (path) => ({
      inode: statSync(path).ino,
      watcher: watch(joinPath(path, SELF), { persistent: false, encoding: "buffer" }),
    }));
    const directory: WatchedDirectory = { location, inode, watcher, inner: new Set() };
    watcher.on("change", (type, name) => this.#happened({ directory, type, name: Buffer.from(name) }));
    watcher.on("error", () => this.#lost());
    this.#directories.set(location.key, directory);
    this.#around(directory)?.inner.add(directory);
  }

  #around({ location }: WatchedDirectory): WatchedDirectory | undefined {
    return location.isTop ? undefined : this.#directories.get(location.parent.key);
  }

  #happened(event: TreeEvent): void {
    if (this.#events.size < MAX_PENDING_EVENTS) {
      this.#events.push(event);
    } else {
      this.#unsure.add(event.directory);
      this.#lost();
    }
    if (!this.#handling) void this.#handleEvents();
  }

  /** In turns: removing a large tree causes thousands of events at once, and each needs a file system access. */
  async #handleEvents(): Promise<void> {
    this.#handling = true;
    const turns = new Turns();
    // A directory is unsure only while there are more events than can be kept.
    while (this.#events.size > 0) {
      for (let event = this.#events.shift(); event !== undefined; event = this.#events.shift()) {
        if (turns.over) await turns.next();
        if (!this.#closed) this.#handle(event);
      }
      for (const directory of this.#unsure) {
        this.#unsure.delete(directory);
        if (turns.over) await turns.next();
        if (!this.#closed) this.#checkGone(directory);
      }
    }
    this.#handling = false;
  }

  /** True if the directory is no longer the watched one. */
  #checkGone(directory: WatchedDirectory): boolean {
    if (this.#directories.get(directory.location.key) !== directory) return true;
    if (directory.location.statIfExists()?.ino === directory.inode) return false;
    this.#gone(directory);
    return true;
  }

  #handle({ directory, type, name }: TreeEvent): void {
    if (pathKey(name) === SELF) {
      if (type === "rename" && this.#checkGone(directory)) return;
      if (this.#only === undefined) this.#note(directory.location);
      return;
    }
    if (this.#only !== undefined && pathKey(name) !== this.#only) return;
    const location = directory.location.child(textOrBytes(name));
    this.#note(location);
    if (type === "rename" && this.#options.recursive && this.#only === undefined) this.#follow(location);
  }

  /** Something appeared or disappeared: if it is a directory, its contents matter too. */
  #follow(location: Location): void {
    const known = this.#directories.get(location.key);
    const inode = directoryInode(location);
    if (known !== undefined && known.inode !== inode) this.#gone(known);
    if (inode === undefined) return;
    // The parent reports a directory that disappears in the meantime.
    const onEntry = (inner: Location): void => this.#note(inner);
    this.#add(location, { recursive: true, onEntry }).catch((error: unknown) => {
      if (!isOutOfReach(error)) this.#lost();
    });
  }

  #gone(directory: WatchedDirectory): void {
    this.#around(directory)?.inner.delete(directory);
    const gone = [directory];
    for (let next = gone.pop(); next !== undefined; next = gone.pop()) {
      next.watcher.close();
      this.#directories.delete(next.location.key);
      for (const inner of next.inner) gone.push(inner);
    }
    if (this.#directories.size > 0) return;
    this.#ended = true;
    this.#note(this.#root);
  }

  #lost(): void {
    this.#overflow = true;
    this.#notifySoon();
  }

  #note(location: Location): void {
    if (this.#changed.size < MAX_NOTICE_PATHS) this.#changed.set(location.key, location);
    else if (!this.#changed.has(location.key)) this.#overflow = true;
    this.#notifySoon();
  }

  #notifySoon(): void {
    if (this.#closed || this.#notifying) return;
    this.#timer ??= setTimeout(() => void this.#notify(), GATHER_MS).unref();
  }

  async #notify(): Promise<void> {
    this.#timer = undefined;
    const change = { locations: [...this.#changed.values()], overflow: this.#overflow, ended: this.#ended };
    this.#changed.clear();
    this.#overflow = false;
    this.#notifying = true;
    await this.#options.onChange(change);
    this.#notifying = false;
    if (change.ended) this.close();
    else if (this.#changed.size > 0 || this.#overflow) this.#notifySoon();
  }
}

function list(directory: Location): Promise<Dirent[]> {
  return directory.onTarget(FOLLOWED, (path) =>
    readdir(path, { withFileTypes: true, encoding: "buffer" as BufferEncoding }),
  );
}

function isOutOfReach(error: unknown): boolean {
  if (error instanceof CapabilityError)
    return ["ENOENT", "EACCES", "ENOTDIR"].includes(error.errno ?? "") || REFUSED.has(error.code);
  return isErrno(error, "ENOENT", "EACCES", "ENOTDIR");
}

/** Errors for a directory that has become a link. */
const REFUSED: ReadonlySet<string> = new Set(["PERMISSION_DENIED", "INVALID_INPUT"]);

function directoryInode(location: Location): number | undefined {
  // Fails if the path may no longer be searched.
  const stat = resultOr(undefined, () =>
    location.onEntry((path) => lstatSync(path, { throwIfNoEntry: false })),
  );
  return stat?.isDirectory() ? stat.ino : undefined;
}
