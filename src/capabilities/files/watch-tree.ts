import { type Dirent, type FSWatcher, lstatSync, statSync, watch } from "node:fs";
import { readdir } from "node:fs/promises";
import { CapabilityError } from "../../base/errors.ts";
import { Fifo } from "../../base/fifo.ts";
import { isErrno } from "../../native/os-error.ts";
import { Turns } from "../turns.ts";
import { fileError } from "./file-error.ts";
import { joinPath, type NativePath, textOrBytes } from "./native-path.ts";
import type { Place } from "./place.ts";
import { isSilent } from "./silent-file-systems.ts";

/** Directories that one watch may cover; each is a watch of the kernel's, of which a user has some ten thousands at most. */
const MAX_WATCHED_DIRECTORIES = 8192;
/** Paths that one notice names. More than that is an overflow. */
const MAX_NOTICE_PATHS = 1024;
/** Events that wait to be looked at. More than that is an overflow too. */
const MAX_PENDING_EVENTS = 16_384;
/** Changes come in bursts; this long they are gathered. */
const GATHER_MS = 25;

/** Paths that came, went or changed. */
export interface TreeChange {
  readonly places: readonly Place[];
  /** More has changed than is named. */
  readonly overflow: boolean;
  /** What was watched is gone, and so is the watch. */
  readonly ended: boolean;
}

export interface WatchOptions {
  /** Watch the directories below too, links to directories excepted. */
  readonly recursive: boolean;
  /** Called with what has changed since the last call; not again before the promise is settled. */
  readonly onChange: (change: TreeChange) => Promise<void>;
}

/** Tells of changes at a file, or in a directory, until the function returned is called. */
export async function watchTree(place: Place, options: WatchOptions): Promise<() => void> {
  const tree = new TreeWatch(place, options);
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
  readonly place: Place;
  readonly inode: number;
  readonly watcher: FSWatcher;
  /** Those below it that are watched too. */
  readonly inner: Set<WatchedDirectory>;
}

interface TreeEvent {
  readonly directory: WatchedDirectory;
  readonly type: string;
  readonly name: Buffer;
}

/** What happens to a directory itself is told under the last name of the path that is watched. No entry is called so. */
const SELF = ".";

class TreeWatch {
  readonly #root: Place;
  readonly #options: WatchOptions;
  readonly #directories = new Map<string, WatchedDirectory>();
  readonly #changed = new Map<string, Place>();
  readonly #events = new Fifo<TreeEvent>();
  /** Directories that have had more events than could be kept. */
  readonly #unsure = new Set<WatchedDirectory>();
  #handling = false;
  #overflow = false;
  #ended = false;
  #closed = false;
  #telling = false;
  #timer: NodeJS.Timeout | undefined;
  /** The one name that counts, when a file is watched. */
  #only: string | undefined;

  constructor(root: Place, options: WatchOptions) {
    this.#root = root;
    this.#options = options;
  }

  async open(): Promise<void> {
    const isDirectory = this.#root.onTarget(FOLLOWED, (path) => statSync(path)).isDirectory();
    // Programs replace files; the directory tells that too.
    if (!isDirectory) this.#only = keyOf(this.#root.name);
    const start = isDirectory ? this.#root : this.#root.parent;
    if (start.onTarget(FOLLOWED, isSilent))
      throw new CapabilityError("UNSUPPORTED", `${start.shown}: this file system tells no changes`);
    await this.#add(start, { recursive: isDirectory && this.#options.recursive, found: () => {} });
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    for (const { watcher } of this.#directories.values()) watcher.close();
    this.#directories.clear();
  }

  /** Watches first and lists then, so that nothing comes in between unseen. */
  async #add(
    start: Place,
    { recursive, found }: { recursive: boolean; found: (place: Place) => void },
  ): Promise<void> {
    const turns = new Turns();
    const pending = [start];
    for (let place = pending.pop(); place !== undefined && !this.#closed; place = pending.pop()) {
      if (this.#directories.has(place.key)) continue;
      try {
        this.#watch(place, { followSymlinks: place === this.#root || this.#only !== undefined });
        if (recursive)
          for (const entry of await list(place)) {
            if (turns.over) await turns.next();
            const inner = place.child(textOrBytes(entry.name as unknown as Buffer));
            found(inner);
            if (entry.isDirectory()) pending.push(inner);
          }
      } catch (error) {
        // Below the first one, directories that go again or may not be read are passed over.
        if (place === start || !isOutOfReach(error)) throw error;
      }
      if (turns.over) await turns.next();
    }
  }

  #watch(place: Place, options: { followSymlinks: boolean }): void {
    if (this.#directories.size >= MAX_WATCHED_DIRECTORIES)
      throw new CapabilityError(
        "OS_ERROR",
        `${this.#root.shown}: more than ${MAX_WATCHED_DIRECTORIES} directories cannot be watched`,
      );
    const { inode, watcher } = place.onTarget(options, (path) => ({
      inode: statSync(path).ino,
      watcher: watch(joinPath(path, SELF), { persistent: false, encoding: "buffer" }),
    }));
    const directory: WatchedDirectory = { place, inode, watcher, inner: new Set() };
    watcher.on("change", (type, name) => this.#happened({ directory, type, name: Buffer.from(name) }));
    watcher.on("error", () => this.#lost());
    this.#directories.set(place.key, directory);
    this.#around(directory)?.inner.add(directory);
  }

  #around({ place }: WatchedDirectory): WatchedDirectory | undefined {
    return place.isTop ? undefined : this.#directories.get(place.parent.key);
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

  /** In turns: whoever removes a large tree makes thousands of them at once, and each takes a look at the file system. */
  async #handleEvents(): Promise<void> {
    this.#handling = true;
    const turns = new Turns();
    while (this.#events.size > 0 || this.#unsure.size > 0) {
      for (let event = this.#events.shift(); event !== undefined; event = this.#events.shift()) {
        if (turns.over) await turns.next();
        if (!this.#closed) this.#handle(event);
      }
      for (const directory of this.#unsure) {
        this.#unsure.delete(directory);
        if (turns.over) await turns.next();
        if (!this.#closed) this.#look(directory);
      }
    }
    this.#handling = false;
  }

  /** True when the directory is not what is watched any more. */
  #look(directory: WatchedDirectory): boolean {
    if (this.#directories.get(directory.place.key) !== directory) return true;
    if (directory.place.statOrNothing()?.ino === directory.inode) return false;
    this.#gone(directory);
    return true;
  }

  #handle({ directory, type, name }: TreeEvent): void {
    if (keyOf(name) === SELF) {
      if (type === "rename" && this.#look(directory)) return;
      if (this.#only === undefined) this.#note(directory.place);
      return;
    }
    if (this.#only !== undefined && keyOf(name) !== this.#only) return;
    const place = directory.place.child(textOrBytes(name));
    this.#note(place);
    if (type === "rename" && this.#options.recursive && this.#only === undefined) this.#follow(place);
  }

  /** Something appeared or went: if it is a directory, what is in it counts too. */
  #follow(place: Place): void {
    const known = this.#directories.get(place.key);
    const inode = directoryInode(place);
    if (known !== undefined && known.inode !== inode) this.#gone(known);
    if (inode === undefined) return;
    // A directory that goes again meanwhile is told by the one that it is in.
    this.#add(place, { recursive: true, found: (inner) => this.#note(inner) }).catch((error: unknown) => {
      if (!isOutOfReach(error)) this.#lost();
    });
  }

  #gone(directory: WatchedDirectory): void {
    this.#around(directory)?.inner.delete(directory);
    const gone = [directory];
    for (let next = gone.pop(); next !== undefined; next = gone.pop()) {
      next.watcher.close();
      this.#directories.delete(next.place.key);
      for (const inner of next.inner) gone.push(inner);
    }
    if (this.#directories.size > 0) return;
    this.#ended = true;
    this.#note(this.#root);
  }

  #lost(): void {
    this.#overflow = true;
    this.#tellSoon();
  }

  #note(place: Place): void {
    if (this.#changed.size < MAX_NOTICE_PATHS) this.#changed.set(place.key, place);
    else if (!this.#changed.has(place.key)) this.#overflow = true;
    this.#tellSoon();
  }

  #tellSoon(): void {
    if (this.#closed || this.#telling) return;
    this.#timer ??= setTimeout(() => void this.#tell(), GATHER_MS).unref();
  }

  async #tell(): Promise<void> {
    this.#timer = undefined;
    const change = { places: [...this.#changed.values()], overflow: this.#overflow, ended: this.#ended };
    this.#changed.clear();
    this.#overflow = false;
    this.#telling = true;
    await this.#options.onChange(change);
    this.#telling = false;
    if (change.ended) this.close();
    else if (this.#changed.size > 0 || this.#overflow) this.#tellSoon();
  }
}

function list(directory: Place): Promise<Dirent[]> {
  return directory.onTarget(FOLLOWED, (path) =>
    readdir(path, { withFileTypes: true, encoding: "buffer" as BufferEncoding }),
  );
}

function isOutOfReach(error: unknown): boolean {
  if (error instanceof CapabilityError)
    return ["ENOENT", "EACCES", "ENOTDIR"].includes(error.errno ?? "") || REFUSED.has(error.code);
  return isErrno(error, "ENOENT", "EACCES", "ENOTDIR");
}

/** What a directory that became a link is answered with. */
const REFUSED: ReadonlySet<string> = new Set(["PERMISSION_DENIED", "INVALID_INPUT"]);

/** Names as they are, whether text or bytes, so that they can be compared. */
function keyOf(name: NativePath): string {
  return Buffer.from(name).toString("latin1");
}

function directoryInode(place: Place): number | undefined {
  try {
    const stat = place.onEntry((path) => lstatSync(path, { throwIfNoEntry: false }));
    return stat?.isDirectory() ? stat.ino : undefined;
  } catch {
    // The way to it may not be searched any more.
    return undefined;
  }
}
