import { posix } from "node:path";
import { FileError } from "../file-error.ts";
import type { FileStat } from "../file-stat.ts";
import { withRestarts } from "../restarts.ts";
import type { TreeAccess } from "../trees.ts";
import { RemoteHashes } from "./remote-hashes.ts";
import {
  type Destination,
  type DirectoryOptions,
  type Found,
  type FoundRoot,
  type Hasher,
  type LargeFile,
  type MadeDirectory,
  type ReadBlocks,
  type Seen,
  UNFINISHED_MODE,
} from "./sides.ts";
import { joinRemote, linkInTheWay, notADirectory } from "./tree-copy.ts";

/** Reading and entering for everyone, which a new directory grants with most umasks. */
const OPEN_TO_ALL = 0o055;
const PRIVATE_DIRECTORY_MODE = 0o700;
const OWNER_MAY_WRITE = 0o200;

interface LargeOptions {
  readonly mode: number | undefined;
  readonly part: string | undefined;
}

/** Files of a server that are written. */
export class RemoteDestination implements Destination {
  readonly isRemote = true;
  readonly knowsLinks: boolean;
  readonly knowsModes: boolean;
  readonly keepsParts: boolean;
  readonly hasher: Hasher | undefined;
  readonly #operation: string;
  readonly #access: TreeAccess;
  /** For everything below what the caller has chosen. */
  readonly #below: TreeAccess;
  readonly #followsLinks: boolean;
  readonly #parts = new Set<string>();

  constructor(operation: string, access: TreeAccess, { followsLinks }: { followsLinks: boolean }) {
    this.#operation = operation;
    this.#access = access;
    this.#followsLinks = followsLinks;
    const { supports } = access;
    this.#below = followsLinks || !supports("fs/writeFile.noLinks") ? access : access.withoutLinks();
    this.knowsLinks = supports("fs/symlink");
    this.knowsModes = supports("fs/writeFile.mode") && supports("fs/chmod");
    this.keepsParts = supports("fs/openPart") && supports("fs/rename") && this.knowsModes;
    this.hasher = RemoteHashes.of(access);
  }

  child(directory: string, name: string): string {
    return joinRemote(directory, name);
  }

  isUnfinished(name: string): boolean {
    return this.#parts.has(name);
  }

  async locateFile(path: string): Promise<{ path: string; directory: string }> {
    const directory = await this.#real(posix.dirname(path));
    return { path: joinRemote(directory, posix.basename(path)), directory };
  }

  /** Where everything below is, if that must not be reached through links. */
  async #real(path: string, signal?: AbortSignal): Promise<string> {
    return this.#below === this.#access
      ? path
      : this.#access.files.realpath(path, signal === undefined ? {} : { signal });
  }

  async findRoot(path: string, signal: AbortSignal): Promise<FoundRoot | undefined> {
    const there = await this.#directoryAt(path, true, signal);
    return there && { path: await this.#real(path, signal), isUnfinished: there.mode === UNFINISHED_MODE };
  }

  async makeRoot(path: string, options: DirectoryOptions, signal: AbortSignal): Promise<MadeDirectory> {
    const made = await this.#make(this.#access, path, options, { mayBeLink: true }, signal);
    return { ...made, path: await this.#real(path, signal) };
  }

  makeDirectory(path: string, options: DirectoryOptions, signal: AbortSignal): Promise<MadeDirectory> {
    return this.#make(this.#below, path, options, { mayBeLink: this.#followsLinks }, signal);
  }

  async #make(
    { files }: TreeAccess,
    path: string,
    { mode, resumes, isParentNew }: DirectoryOptions,
    { mayBeLink }: { mayBeLink: boolean },
    signal: AbortSignal,
  ): Promise<MadeDirectory> {
    const there = isParentNew ? undefined : await this.#directoryAt(path, mayBeLink, signal);
    if (there !== undefined) return { path, isNew: false, isUnfinished: there.mode === UNFINISHED_MODE };
    await files.mkdir(path, { signal });
    if (mode !== undefined && resumes) await files.chmod(path, UNFINISHED_MODE, { signal });
    // What will be in it may be protected by nothing else.
    else if (mode !== undefined && (mode & OPEN_TO_ALL) !== OPEN_TO_ALL)
      await files.chmod(path, PRIVATE_DIRECTORY_MODE, { signal });
    return { path, isNew: true, isUnfinished: false };
  }

  /** The directory that already exists where one will be made; undefined if there is nothing. */
  async #directoryAt(path: string, mayBeLink: boolean, signal: AbortSignal): Promise<FileStat | undefined> {
    try {
      const found = await this.#access.files.stat(path, { signal });
      if (found.isSymlink && !mayBeLink) throw linkInTheWay(this.#operation, path);
      if (found.kind !== "directory") throw notADirectory(this.#operation, path);
      return found;
    } catch (error) {
      if (error instanceof FileError && error.code === "NOT_FOUND") return undefined;
      throw error;
    }
  }

  setMode(path: string, _kind: "file" | "directory", mode: number, signal: AbortSignal): Promise<void> {
    return this.#below.files.chmod(path, mode, { signal });
  }

  async listExisting(directory: string, signal: AbortSignal): Promise<Seen | undefined> {
    const { files, supports } = this.#below;
    if (!supports("fs/readDirectory.detailed")) return undefined;
    const entries = await files.listDetails(directory, { signal });
    return new Map(entries.map(({ name, ...found }): [string, Found] => [name, found]));
  }

  remove(path: string, signal: AbortSignal): Promise<void> {
    return this.#below.files.remove(path, { force: true, signal });
  }

  removeDirectory(path: string, contents: "with contents" | "if empty", signal: AbortSignal): Promise<void> {
    const recursive = contents === "with contents";
    return this.#below.files.remove(path, { force: true, recursive, signal });
  }

  readLink(path: string, signal: AbortSignal): Promise<string> {
    return this.#below.files.readLink(path, { signal });
  }

  writeSmall(path: string, bytes: Uint8Array, mode: number | undefined, signal: AbortSignal): Promise<void> {
    return this.#below.files.write(path, bytes, { ...(mode === undefined ? {} : { mode }), signal });
  }

  openLarge(path: string, { mode, part }: LargeOptions): Promise<LargeFile> {
    if (part === undefined) return Promise.resolve(new LargeFileInPlace(this.#below, path, mode));
    this.#parts.add(part);
    const partPath = joinRemote(posix.dirname(path), part);
    return Promise.resolve(new LargeRemotePart(this.#below, path, partPath, mode));
  }

  link(target: string, path: string, signal: AbortSignal): Promise<void> {
    return this.#below.files.symlink(target, path, { replace: true, signal });
  }
}

/** Is written where it belongs, and from its beginning at each attempt. */
class LargeFileInPlace implements LargeFile {
  readonly path: string;
  readonly #access: TreeAccess;
  readonly #mode: number | undefined;

  constructor(access: TreeAccess, path: string, mode: number | undefined) {
    this.#access = access;
    this.path = path;
    this.#mode = mode;
  }

  present(): Promise<number> {
    return Promise.resolve(0);
  }

  /**
   * Replaces a file even if it may only be read, as far as its owner can: an earlier attempt may have given it such a
   * mode.
   */
  async write(_: number, read: ReadBlocks, signal: AbortSignal): Promise<void> {
    const { files } = this.#access;
    const mode = this.#mode;
    const options = { ...(mode === undefined ? {} : { mode }), signal };
    try {
      await files.writeStream(this.path, await read(), options);
    } catch (error) {
      const isRefused = error instanceof FileError && error.code === "PERMISSION_DENIED";
      if (!isRefused || mode === undefined || error.path !== this.path) throw error;
      await files.chmod(this.path, mode | OWNER_MAY_WRITE, { signal });
      await files.writeStream(this.path, await read(), options);
    }
  }

  async finish(): Promise<void> {}

  async abandon(): Promise<void> {}
}

/** Is written beside its place, and continued. */
class LargeRemotePart implements LargeFile {
  readonly path: string;
  readonly #access: TreeAccess;
  readonly #final: string;
  readonly #mode: number | undefined;

  constructor(access: TreeAccess, final: string, path: string, mode: number | undefined) {
    this.#access = access;
    this.#final = final;
    this.path = path;
    this.#mode = mode;
  }

  async present(signal: AbortSignal): Promise<number> {
    try {
      const { kind, isSymlink, size } = await this.#access.files.stat(this.path, { signal });
      return kind === "file" && !isSymlink ? size : 0;
    } catch (error) {
      if (error instanceof FileError && error.code === "NOT_FOUND") return 0;
      throw error;
    }
  }

  async write(offset: number, read: ReadBlocks, signal: AbortSignal): Promise<void> {
    const isPrivate = this.#mode !== undefined;
    await this.#access.streams.continue(this.path, await read(), { offset, isPrivate, signal });
  }

  async finish(signal: AbortSignal): Promise<void> {
    const { files } = this.#access;
    if (this.#mode !== undefined) await files.chmod(this.path, this.#mode, { signal });
    let isFirst = true;
    await withRestarts(async () => {
      // If the answer to an earlier attempt was lost, the part may be in its place.
      if (!isFirst && (await this.present(signal)) === 0) return;
      isFirst = false;
      await files.rename(this.path, this.#final, { signal });
    });
  }

  async abandon({ keepsPart }: { keepsPart: boolean }): Promise<void> {
    // What stopped the copy is the failure to report.
    if (!keepsPart) await this.#access.files.remove(this.path, { force: true }).catch(() => {});
  }
}
