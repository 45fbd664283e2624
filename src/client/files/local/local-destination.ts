import { type FileHandle, lstat, readdir, readlink, realpath, rm, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { partToWrite } from "../../../base/part-to-write.ts";
import { fileError, ifPresent } from "../file-error.ts";
import {
  chmodDirectory,
  chmodFile,
  createInPlace,
  linkInPlace,
  openPartInPlace,
  renameInPlace,
  withinDirectory,
} from "./in-place.ts";
import { onLocal } from "./local-error.ts";
import { hashFile, kindOf } from "./local-file.ts";
import { removeInPlace } from "./remove-in-place.ts";
import { makeDirectory, makeTarget } from "./made-directory.ts";
import {
  type Destination,
  type DirectoryOptions,
  type EntryInfo,
  type ExistingRoot,
  type Hasher,
  type LargeFile,
  type LargeFileOptions,
  type MadeDirectory,
  type ReadBlocks,
  type Seen,
  UNFINISHED_MODE,
} from "./sides.ts";
import { TemporaryNames } from "./temporary-names.ts";
import { notADirectory } from "./tree-copy.ts";

const NEW_FILE_MODE = 0o666;
const NEW_DIRECTORY_MODE = 0o777;
/** Modes of files and directories until they are complete. */
const PRIVATE_FILE_MODE = 0o600;
const PRIVATE_DIRECTORY_MODE = 0o700;
/** Characters with a special meaning on Windows: separators, drives and file streams. */
const SPECIAL_ON_WINDOWS = /[\\/:]/;

/**
 * Files of this machine that are written. Nothing is written outside the directory that the caller has chosen, whatever
 * a server says: existing directories must not be links, files replace what has their name instead of being written
 * through it, and links are created last.
 */
export class LocalDestination implements Destination {
  readonly isRemote = false;
  readonly knowsLinks = true;
  readonly knowsModes = true;
  readonly keepsParts = true;
  readonly hasher: Hasher = {
    hash: (path, range) => this.#on(path, () => hashFile(path, range, { follow: false })),
  };
  readonly #operation: string;
  readonly #temporaries = new TemporaryNames();
  readonly #parts = new Set<string>();

  constructor(operation: string) {
    this.#operation = operation;
  }

  child(directory: string, name: string): string {
    if (process.platform === "win32" && SPECIAL_ON_WINDOWS.test(name)) {
      const reason = "Windows does not allow this name";
      throw fileError("UNSUPPORTED", this.#operation, `${directory}/${name}`, reason);
    }
    // The library has already refused names that are invalid on every system.
    return join(directory, name);
  }

  isUnfinished(name: string): boolean {
    return this.#temporaries.has(name) || this.#parts.has(name);
  }

  async locateFile(path: string): Promise<{ path: string; directory: string }> {
    const directory = await this.#on(path, () => realpath(dirname(resolve(path))));
    return { path: join(directory, basename(resolve(path))), directory };
  }

  async findRoot(path: string): Promise<ExistingRoot | undefined> {
    const info = await ifPresent(this.#on(path, () => stat(path)));
    if (info === undefined) return undefined;
    if (!info.isDirectory()) throw notADirectory(this.#operation, path);
    const isUnfinished = (info.mode & 0o7777) === UNFINISHED_MODE;
    return { path: await this.#on(path, () => realpath(path)), isUnfinished };
  }

  makeRoot(path: string, options: DirectoryOptions): Promise<MadeDirectory> {
    return makeTarget(this.#operation, path, newMode(options));
  }

  makeDirectory(path: string, options: DirectoryOptions): Promise<MadeDirectory> {
    return makeDirectory(this.#operation, path, newMode(options));
  }

  async setMode(path: string, kind: "file" | "directory", mode: number): Promise<void> {
    await this.#on(path, () => (kind === "directory" ? chmodDirectory : chmodFile)(path, mode));
  }

  async listExisting(directory: string): Promise<Seen> {
    return this.#on(directory, () => withinDirectory(directory, (within) => this.#inspectDirectory(within)));
  }

  async #inspectDirectory(directory: string): Promise<Seen> {
    const names = await readdir(directory);
    const seen = new Map<string, EntryInfo>();
    for (const name of names) {
      if (this.#temporaries.isAbandoned(name))
        await rm(join(directory, name), { force: true }).catch(() => {});
      const stat = await lstat(join(directory, name)).catch(() => undefined);
      if (stat === undefined) continue;
      seen.set(name, { kind: kindOf(stat), size: stat.size, mode: stat.mode });
    }
    return seen;
  }

  async remove(path: string): Promise<void> {
    await this.#on(path, () => removeInPlace(path, "file"));
  }

  async removeDirectory(path: string, contents: "with contents" | "if empty"): Promise<void> {
    await this.#on(path, () => removeInPlace(path, contents));
  }

  readLink(path: string): Promise<string> {
    return this.#on(path, () => readlink(path));
  }

  async writeSmall(path: string, bytes: Uint8Array, mode: number | undefined): Promise<void> {
    await this.#putInPlace(path, async (temporary) => {
      const file = await this.#create(path, temporary, mode);
      try {
        await this.#on(path, () => file.writeFile(bytes));
        if (mode !== undefined) await this.#on(path, () => file.chmod(mode));
      } finally {
        await this.#on(path, () => file.close());
      }
    });
  }

  async openLarge(path: string, { mode, part }: LargeFileOptions): Promise<LargeFile> {
    const written = part === undefined ? this.#temporary(path) : join(dirname(path), part);
    const file =
      part === undefined
        ? await this.#removedOnFailure(written, this.#create(path, written, mode))
        : await this.#openPart(path, written, mode);
    const isPart = part !== undefined;
    return new LargeLocalFile({ operation: this.#operation, path, written, file, mode, isPart });
  }

  async #openPart(path: string, part: string, mode: number | undefined): Promise<FileHandle> {
    this.#parts.add(basename(part));
    const file = await this.#on(path, () => openPartInPlace(part, unfinishedMode(mode)));
    if (mode !== undefined) await this.#on(path, () => file.chmod(PRIVATE_FILE_MODE));
    return file;
  }

  async link(target: string, path: string): Promise<void> {
    await this.#putInPlace(path, (temporary) => this.#on(path, () => linkInPlace(target, temporary)));
  }

  #create(path: string, temporary: string, mode: number | undefined): Promise<FileHandle> {
    return this.#on(path, () => createInPlace(temporary, unfinishedMode(mode)));
  }

  /**
   * Creates a file under a temporary name and renames it, so that a link in its place is replaced, not followed. Leaves
   * nothing behind on failure.
   */
  async #putInPlace(path: string, make: (temporary: string) => Promise<void>): Promise<void> {
    const temporary = this.#temporary(path);
    const made = make(temporary).then(() => this.#on(path, () => renameInPlace(temporary, path)));
    await this.#removedOnFailure(temporary, made);
  }

  async #removedOnFailure<T>(temporary: string, work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      await rm(temporary, { force: true }).catch(() => {}); // The first failure is the one to report.
      throw error;
    }
  }

  #temporary(path: string): string {
    return join(dirname(path), this.#temporaries.next());
  }

  #on<T>(path: string, work: () => Promise<T>): Promise<T> {
    return onLocal(this.#operation, path, work);
  }
}

interface LargeLocalOptions {
  readonly operation: string;
  readonly path: string;
  readonly written: string;
  readonly file: FileHandle;
  readonly mode: number | undefined;
  readonly isPart: boolean;
}

class LargeLocalFile implements LargeFile {
  readonly path: string;
  readonly #options: LargeLocalOptions;

  constructor(options: LargeLocalOptions) {
    this.path = options.written;
    this.#options = options;
  }

  async present(): Promise<number> {
    return (await this.#on((file) => file.stat())).size;
  }

  async write(offset: number, read: ReadBlocks): Promise<void> {
    await this.#on((file) => file.truncate(offset));
    let position = offset;
    for await (const block of await read()) {
      const { skipped, bytes } = partToWrite(block);
      await this.#on((file) => writeAll(file, bytes, position + skipped));
      position += block.length;
    }
  }

  async finish(): Promise<void> {
    const { mode, path, operation } = this.#options;
    if (mode !== undefined) await this.#on((file) => file.chmod(mode));
    await this.#on((file) => file.close());
    await onLocal(operation, path, () => renameInPlace(this.path, path));
  }

  async abandon({ keepsPart }: { keepsPart: boolean }): Promise<void> {
    await this.#options.file.close().catch(() => {}); // It has already been closed.
    if (!(keepsPart && this.#options.isPart)) await rm(this.path, { force: true }).catch(() => {});
  }

  #on<T>(work: (file: FileHandle) => Promise<T>): Promise<T> {
    const { operation, path, file } = this.#options;
    return onLocal(operation, path, () => work(file));
  }
}

/** Mode of a file until it is complete. */
function unfinishedMode(mode: number | undefined): number {
  return mode === undefined ? NEW_FILE_MODE : PRIVATE_FILE_MODE;
}

/** Mode of a directory until it is filled. */
function newMode({ mode, resumes }: DirectoryOptions): number {
  if (mode === undefined) return NEW_DIRECTORY_MODE;
  return resumes ? UNFINISHED_MODE : PRIVATE_DIRECTORY_MODE;
}

async function writeAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    const part = await file.write(bytes, written, bytes.length - written, position + written);
    written += part.bytesWritten;
  }
}
