import { posix } from "node:path";
import { FileError, ifPresent } from "../file-error.ts";
import type { FileStat } from "../file-stat.ts";
import { renameOnce } from "../restarts.ts";
import type { TreeAccess } from "../trees.ts";
import { RemoteHashes } from "./remote-hashes.ts";
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
import { joinRemote, linkInTheWay, notADirectory } from "./tree-copy.ts";

/** Reading and entering for everyone, which a new directory grants with most umasks. */
const OPEN_TO_ALL = 0o055;
const PRIVATE_DIRECTORY_MODE = 0o700;
const OWNER_MAY_WRITE = 0o200;

/** Files of a server that are written. */
export class RemoteDestination implements Destination {
  readonly isRemote = true;
  readonly knowsLinks: boolean;
  readonly knowsModes: boolean;
  readonly keepsParts: boolean;
  readonly hasher: Hasher | undefined;
  readonly #operation: string;
  readonly #access: TreeAccess;
  /** Access to everything below the directory that the caller has chosen. */
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

  /** Real path below which everything is, if it must not be reached through links. */
  async #real(path: string, signal?: AbortSignal): Promise<string> {
    if (this.#below === this.#access) return path;
    return this.#access.files.realpath(path, signal === undefined ? {} : { signal });
  }

  async findRoot(path: string, signal: AbortSignal): Promise<ExistingRoot | undefined> {
    const existing = await this.#directoryAt(path, true, signal);
    return (
      existing && { path: await this.#real(path, signal), isUnfinished: existing.mode === UNFINISHED_MODE }
    );
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
    const existing = isParentNew ? undefined : await this.#directoryAt(path, mayBeLink, signal);
    if (existing !== undefined)
      return { path, isNew: false, isUnfinished: existing.mode === UNFINISHED_MODE };
    await files.mkdir(path, { signal });
    if (mode !== undefined && resumes) await files.chmod(path, UNFINISHED_MODE, { signal });
    // Its future contents may have no other protection.
    else if (mode !== undefined && (mode & OPEN_TO_ALL) !== OPEN_TO_ALL)
      await files.chmod(path, PRIVATE_DIRECTORY_MODE, { signal });
    return { path, isNew: true, isUnfinished: false };
  }

  /** The existing directory where one is to be created; undefined if there is none. */
  async #directoryAt(path: string, mayBeLink: boolean, signal: AbortSignal): Promise<FileStat | undefined> {
    const stat = await ifPresent(this.#access.files.stat(path, { signal }));
    if (stat?.isSymlink && !mayBeLink) throw linkInTheWay(this.#operation, path);
    if (stat !== undefined && stat.kind !== "directory") throw notADirectory(this.#operation, path);
    return stat;
  }

  setMode(path: string, _kind: "file" | "directory", mode: number, signal: AbortSignal): Promise<void> {
    return this.#below.files.chmod(path, mode, { signal });
  }

  async listExisting(directory: string, signal: AbortSignal): Promise<Seen | undefined> {
    const { files, supports } = this.#below;
    if (!supports("fs/readDirectory.detailed")) return undefined;
    const entries = await files.listDetails(directory, { signal });
    return new Map(entries.map(({ name, ...info }): [string, EntryInfo] => [name, info]));
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

  openLarge(path: string, { mode, part }: LargeFileOptions): Promise<LargeFile> {
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
   * Replaces a file even if it is read-only, as far as its owner can: an earlier attempt may have given it such a mode.
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
    const stat = await ifPresent(this.#access.files.stat(this.path, { signal }));
    return stat?.kind === "file" && !stat.isSymlink ? stat.size : 0;
  }

  async write(offset: number, read: ReadBlocks, signal: AbortSignal): Promise<void> {
    const isPrivate = this.#mode !== undefined;
    await this.#access.streams.continue(this.path, await read(), { offset, isPrivate, signal });
  }

  async finish(signal: AbortSignal): Promise<void> {
    const { files } = this.#access;
    if (this.#mode !== undefined) await files.chmod(this.path, this.#mode, { signal });
    const isGone = async (): Promise<boolean> => (await this.present(signal)) === 0;
    await renameOnce(isGone, () => files.rename(this.path, this.#final, { signal }));
  }

  async abandon({ keepsPart }: { keepsPart: boolean }): Promise<void> {
    // The original error is the one to report.
    if (!keepsPart) await this.#access.files.remove(this.path, { force: true }).catch(() => {});
  }
}
