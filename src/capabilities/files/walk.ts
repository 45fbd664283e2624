import type { Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import { Fifo } from "../../base/fifo.ts";
import type { CapabilityError } from "../../base/errors.ts";
import { Turns } from "../turns.ts";
import { fileError, invalidInput } from "./file-error.ts";
import { joinPath, type NativePath, pathKey, textOrBytes } from "./native-path.ts";
import type { Location } from "./location.ts";

export interface WalkOptions {
  readonly maxDepth: number;
  readonly maxDirectories: number;
  readonly maxEntries: number;
  readonly followDirectorySymlinks: boolean;
  readonly pruneHiddenDirectories: boolean;
}

export interface WalkResult {
  readonly entries: { location: Location; kind: "directory" | "file" }[];
  readonly errors: { location: Location; message: string }[];
  readonly truncated: boolean;
}

const MAX_WALK = { depth: 64, directories: 10_000, entries: 50_000 } as const;
const MAX_RESULT_BYTES = 4 * 1024 * 1024;
const ITEM_OVERHEAD_BYTES = 64;
const DOT = 46;

/**
 * Lists a tree level by level, with the names of each directory sorted. Unreadable directories are reported and
 * skipped.
 */
export async function walk(root: Location, options: WalkOptions): Promise<WalkResult> {
  checkWalkLimits(options);
  // A broken link is an error, whether or not it would be followed.
  const isDirectory = (await root.stat()).isDirectory();
  const isLink = await root.isLink();
  const walker = new Walker(options);
  if (isDirectory && (!isLink || options.followDirectorySymlinks)) await walker.run(root);
  return walker.result;
}

/** Throws if a limit is zero or too high. */
export function checkWalkLimits({ maxDepth, maxDirectories, maxEntries }: WalkOptions): void {
  if (maxDirectories === 0 || maxEntries === 0)
    throw invalidInput("filesystem walk limits must be greater than zero");
  if (maxDepth > MAX_WALK.depth || maxDirectories > MAX_WALK.directories || maxEntries > MAX_WALK.entries)
    throw invalidInput(
      `filesystem walk limits exceed maximums: depth=${MAX_WALK.depth}, directories=${MAX_WALK.directories}, entries=${MAX_WALK.entries}`,
    );
}

interface Directory {
  readonly location: Location;
  readonly depth: number;
  /** Its path without links, if linked directories are entered. */
  readonly real: NativePath | undefined;
}

class Walker {
  readonly #options: WalkOptions;
  readonly #queue = new Fifo<Directory>();
  readonly #turns = new Turns();
  readonly #visited = new Set<string>();
  readonly #entries: WalkResult["entries"] = [];
  readonly #errors: WalkResult["errors"] = [];
  #examined = 0;
  #directories = 0;
  #bytes = 0;
  #truncated = false;

  constructor(options: WalkOptions) {
    this.#options = options;
  }

  get result(): WalkResult {
    return { entries: this.#entries, errors: this.#errors, truncated: this.#truncated };
  }

  async run(root: Location): Promise<void> {
    await this.#enqueue(root, 0);
    for (let next = this.#queue.shift(); next !== undefined && !this.#truncated; next = this.#queue.shift()) {
      if (this.#directories >= this.#options.maxDirectories) {
        this.#truncated = true;
        return;
      }
      this.#directories += 1;
      await this.#list(next);
    }
  }

  async #list({ location: directory, depth, real }: Directory): Promise<void> {
    for (const entry of await this.#read(directory)) {
      if (this.#turns.over) await this.#turns.next();
      const name = textOrBytes(entry.name);
      const location = directory.child(name);
      const target = entry.type.isSymbolicLink() ? await location.stat().catch(() => undefined) : entry.type;
      // A broken link, or one that leads outside the allowed roots, does not count.
      if (target === undefined) continue;
      if (this.#examined >= this.#options.maxEntries) {
        this.#truncated = true;
        return;
      }
      this.#examined += 1;
      const kind = this.#kindOf(entry.type, target);
      if (kind === undefined) continue;
      if (!this.#hasRoom(location)) return;
      this.#entries.push({ location, kind });
      const hidden = Buffer.from(entry.name)[0] === DOT;
      const enter = depth < this.#options.maxDepth && !(hidden && this.#options.pruneHiddenDirectories);
      if (kind === "directory" && enter) {
        // Below a real path, an entry that is not a link has a real path too.
        const known = real === undefined || entry.type.isSymbolicLink() ? undefined : joinPath(real, name);
        await this.#enqueue(location, depth + 1, known);
      }
      if (this.#truncated) return;
    }
  }

  async #read(directory: Location): Promise<{ name: Buffer; type: Dirent }[]> {
    try {
      const listed = await directory.onTarget({ followSymlinks: true }, (opened) =>
        readdir(opened, { withFileTypes: true, encoding: "buffer" as BufferEncoding }),
      );
      const entries = listed.map((type) => ({ name: type.name as unknown as Buffer, type }));
      return entries.sort((left, right) => Buffer.compare(left.name, right.name));
    } catch (error) {
      this.#fail(directory, error);
      return [];
    }
  }

  #kindOf(own: Dirent, target: Pick<Dirent, "isDirectory">): "directory" | "file" | undefined {
    if (own.isSymbolicLink())
      return target.isDirectory() && this.#options.followDirectorySymlinks ? "directory" : undefined;
    if (own.isDirectory()) return "directory";
    return own.isFile() ? "file" : undefined;
  }

  async #enqueue(location: Location, depth: number, known?: NativePath): Promise<void> {
    let real: NativePath | undefined;
    if (this.#options.followDirectorySymlinks) {
      real = known ?? (await this.#realPath(location));
      if (real === undefined) return;
      const identity = pathKey(real);
      if (this.#visited.has(identity)) return;
      this.#visited.add(identity);
    }
    this.#queue.push({ location, depth, real });
  }

  async #realPath(location: Location): Promise<NativePath | undefined> {
    try {
      return await location.realPath();
    } catch (error) {
      this.#fail(location, error);
      return undefined;
    }
  }

  #fail(location: Location, error: unknown): void {
    const { message } = fileError(error) as CapabilityError;
    if (this.#hasRoom(location)) this.#errors.push({ location, message });
  }

  #hasRoom(location: Location): boolean {
    this.#bytes += location.uri.length + ITEM_OVERHEAD_BYTES;
    if (this.#bytes > MAX_RESULT_BYTES) this.#truncated = true;
    return !this.#truncated;
  }
}
