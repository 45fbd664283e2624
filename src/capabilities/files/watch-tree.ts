import { type FSWatcher, lstatSync, statSync, watch } from "node:fs";
import { readdir } from "node:fs/promises";
import { CapabilityError } from "../../base/errors.ts";
import { fileError } from "./file-error.ts";
import { joinPath, type NativePath, showPath, splitPath } from "./native-path.ts";
import { isSilent } from "./silent-file-systems.ts";

/** Directories that one watch may cover; each is a watch of the kernel's, of which a user has some ten thousands at most. */
const MAX_WATCHED_DIRECTORIES = 8192;
/** Paths that one notice names. More than that is an overflow. */
const MAX_NOTICE_PATHS = 1024;
/** Changes come in bursts; this long they are gathered. */
const GATHER_MS = 25;

/** Paths that came, went or changed. */
export interface TreeChange {
  readonly paths: readonly NativePath[];
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
export async function watchTree(path: NativePath, options: WatchOptions): Promise<() => void> {
  const tree = new TreeWatch(path, options);
  try {
    await tree.open();
  } catch (error) {
    tree.close();
    throw fileError(error);
  }
  return () => tree.close();
}

interface WatchedDirectory {
  readonly path: NativePath;
  readonly inode: number;
  readonly watcher: FSWatcher;
}

class TreeWatch {
  readonly #root: NativePath;
  readonly #options: WatchOptions;
  readonly #directories = new Map<string, WatchedDirectory>();
  readonly #changed = new Map<string, NativePath>();
  #overflow = false;
  #ended = false;
  #closed = false;
  #telling = false;
  #timer: NodeJS.Timeout | undefined;
  /** The one name that counts, when a file is watched. */
  #only: string | undefined;

  constructor(root: NativePath, options: WatchOptions) {
    this.#root = root;
    this.#options = options;
  }

  async open(): Promise<void> {
    const isDirectory = statSync(this.#root).isDirectory();
    // Programs replace files; the directory tells that too.
    const { directory, name } = splitPath(this.#root);
    if (!isDirectory) this.#only = keyOf(name);
    const start = isDirectory ? this.#root : directory;
    if (isSilent(start))
      throw new CapabilityError("UNSUPPORTED", `${showPath(start)}: this file system tells no changes`);
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
    start: NativePath,
    { recursive, found }: { recursive: boolean; found: (path: NativePath) => void },
  ): Promise<void> {
    const pending = [start];
    for (let path = pending.pop(); path !== undefined && !this.#closed; path = pending.pop()) {
      if (this.#directories.has(keyOf(path))) continue;
      try {
        this.#watch(path);
        if (recursive)
          for (const entry of await list(path)) {
            found(entry.path);
            if (entry.isDirectory) pending.push(entry.path);
          }
      } catch (error) {
        // Below the first one, directories that go again or may not be read are passed over.
        if (path === start || !isOutOfReach(error)) throw error;
      }
    }
  }

  #watch(path: NativePath): void {
    if (this.#directories.size >= MAX_WATCHED_DIRECTORIES)
      throw new CapabilityError(
        "OS_ERROR",
        `${showPath(this.#root)}: more than ${MAX_WATCHED_DIRECTORIES} directories cannot be watched`,
      );
    const watcher = watch(path, { persistent: false, encoding: "buffer" });
    const directory = { path, inode: statSync(path).ino, watcher };
    watcher.on("change", (type, name) => this.#happened(directory, type, Buffer.from(name)));
    watcher.on("error", () => this.#lost());
    this.#directories.set(keyOf(path), directory);
  }

  #happened(directory: WatchedDirectory, type: string, name: Buffer): void {
    // The end of a directory is told under its own name, as if it were in itself.
    const isOwnName = keyOf(name) === keyOf(splitPath(directory.path).name);
    if (type === "rename" && isOwnName && inodeOf(directory.path) !== directory.inode) {
      this.#gone(directory);
      return;
    }
    if (this.#only !== undefined && keyOf(name) !== this.#only) return;
    const path = joinPath(directory.path, utf8OrBytes(name));
    this.#note(path);
    if (type === "rename" && this.#options.recursive && this.#only === undefined) this.#follow(path);
  }

  /** Something appeared or went: if it is a directory, what is in it counts too. */
  #follow(path: NativePath): void {
    const known = this.#directories.get(keyOf(path));
    const inode = directoryInode(path);
    if (known !== undefined && known.inode !== inode) this.#gone(known);
    if (inode === undefined) return;
    // A directory that goes again meanwhile is told by the one that it is in.
    this.#add(path, { recursive: true, found: (inner) => this.#note(inner) }).catch((error: unknown) => {
      if (!isOutOfReach(error)) this.#lost();
    });
  }

  #gone(directory: WatchedDirectory): void {
    const prefix = `${keyOf(directory.path)}/`;
    for (const [key, { watcher }] of this.#directories) {
      if (!`${key}/`.startsWith(prefix)) continue;
      watcher.close();
      this.#directories.delete(key);
    }
    if (this.#directories.size > 0) return;
    this.#ended = true;
    this.#note(this.#root);
  }

  #lost(): void {
    this.#overflow = true;
    this.#tellSoon();
  }

  #note(path: NativePath): void {
    if (this.#changed.size < MAX_NOTICE_PATHS) this.#changed.set(keyOf(path), path);
    else if (!this.#changed.has(keyOf(path))) this.#overflow = true;
    this.#tellSoon();
  }

  #tellSoon(): void {
    if (this.#closed || this.#telling) return;
    this.#timer ??= setTimeout(() => void this.#tell(), GATHER_MS).unref();
  }

  async #tell(): Promise<void> {
    this.#timer = undefined;
    const change = { paths: [...this.#changed.values()], overflow: this.#overflow, ended: this.#ended };
    this.#changed.clear();
    this.#overflow = false;
    this.#telling = true;
    await this.#options.onChange(change);
    this.#telling = false;
    if (change.ended) this.close();
    else if (this.#changed.size > 0 || this.#overflow) this.#tellSoon();
  }
}

async function list(directory: NativePath): Promise<{ path: NativePath; isDirectory: boolean }[]> {
  const entries = await readdir(directory, { withFileTypes: true, encoding: "buffer" as BufferEncoding });
  return entries.map((entry) => {
    const name = entry.name as unknown as Buffer;
    return { path: joinPath(directory, utf8OrBytes(name)), isDirectory: entry.isDirectory() };
  });
}

function isOutOfReach(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOENT" || code === "EACCES" || code === "ENOTDIR";
}

/** Paths as they are, whether text or bytes, so that they can be compared. */
function keyOf(path: NativePath): string {
  return Buffer.from(path).toString("latin1");
}

function utf8OrBytes(name: Buffer): NativePath {
  const text = name.toString("utf8");
  return Buffer.from(text).equals(name) ? text : name;
}

function inodeOf(path: NativePath): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino;
}

function directoryInode(path: NativePath): number | undefined {
  try {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    return stat?.isDirectory() ? stat.ino : undefined;
  } catch {
    // The way to it may not be searched any more.
    return undefined;
  }
}
