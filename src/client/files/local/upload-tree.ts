import { isUtf8 } from "node:buffer";
import type { Stats } from "node:fs";
import { type FileHandle, lstat, readlink, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { BLOCK_BYTES } from "../file-blocks.ts";
import { FileError } from "../file-error.ts";
import type { TreeAccess, TreeEntry, TreeOptions, TreeResult } from "../trees.ts";
import { listDirectory, openToRead } from "./in-place.ts";
import { onLocal } from "./local-error.ts";
import type { Task } from "./task-stack.ts";
import {
  checkLocalPath,
  COPIED_MODE_BITS,
  endlessLink,
  joinRelative,
  joinRemote,
  noLinks,
  notADirectory,
  SMALL_FILE_BYTES,
  TreeCopy,
  withRestarts,
} from "./tree-copy.ts";

const OPERATION = "uploadTree";
/** Windows has no permissions of this kind. */
const HAS_MODES = process.platform !== "win32";
/** Reading and entering for everyone, which a new directory grants with most umasks. */
const OPEN_TO_ALL = 0o055;
const PRIVATE_DIRECTORY_MODE = 0o700;
const OWNER_MAY_WRITE = 0o200;

/** One thing on its way from here to there. */
interface Upload {
  readonly local: string;
  readonly remote: string;
  /** As callers see it; empty for the directory that is uploaded. */
  readonly path: string;
  readonly stat: Stats;
}

/** A directory on its way, with what is known about the place it goes to. */
interface DirectoryUpload extends Upload {
  /** The directory that it goes to has just been made, so that nothing can be there. */
  readonly isParentNew: boolean;
  /** Identities of the directories that it is in. */
  readonly above: ReadonlySet<string>;
}

/** Copies a directory of this machine into one of the server's. */
export async function uploadTree(
  access: TreeAccess,
  local: string,
  remote: string,
  options: TreeOptions,
): Promise<TreeResult> {
  checkLocalPath(local);
  const uploader = new Uploader(new TreeCopy(access, options));
  const found = await onLocal(OPERATION, local, () => stat(local));
  if (!found.isDirectory()) throw notADirectory(OPERATION, local);
  const real = await onLocal(OPERATION, local, () => realpath(local));
  return uploader.run({ local: real, remote, path: "", stat: found, isParentNew: false, above: new Set() });
}

class Uploader {
  readonly #copy: TreeCopy;

  constructor(copy: TreeCopy) {
    this.#copy = copy;
  }

  run(root: DirectoryUpload): Promise<TreeResult> {
    return this.#copy.run((push, signal) => this.#directory(root, push, signal));
  }

  async #directory(upload: DirectoryUpload, push: (task: Task) => void, signal: AbortSignal): Promise<void> {
    const { local, remote, path, isParentNew } = upload;
    // Listed before it is created there, so that a copy into the directory itself does not find itself.
    const names = await onLocal(OPERATION, local, () => listDirectory(local, this.#reading));
    const isNew = isParentNew || !(await this.#isThere(remote, signal));
    if (isNew) await this.#makeDirectory(upload, signal);
    this.#copy.copied("directories", path);
    const above = new Set([...upload.above, identityOf(upload.stat)]);
    // The last one pushed is the first one taken.
    for (const name of names
      .map((bytes) => textOf(bytes, local))
      .sort()
      .reverse())
      push((pushMore, later) =>
        this.#entry(
          { local: join(local, name), remote: joinRemote(remote, name), path: joinRelative(path, name) },
          { isParentNew: isNew, above },
          pushMore,
          later,
        ),
      );
  }

  async #makeDirectory(upload: Upload, signal: AbortSignal): Promise<void> {
    const { remote, path } = upload;
    const { files } = this.#copy.access;
    await files.mkdir(remote, { signal });
    const { mode } = this.#modeOf(upload);
    if (mode === undefined) return;
    // What will be in it may be protected by nothing else.
    if ((mode & OPEN_TO_ALL) !== OPEN_TO_ALL) await files.chmod(remote, PRIVATE_DIRECTORY_MODE, { signal });
    this.#copy.setModeLater(path, (later) => files.chmod(remote, mode, { signal: later }));
  }

  async #entry(
    place: Omit<Upload, "stat">,
    parent: Pick<DirectoryUpload, "isParentNew" | "above">,
    push: (task: Task) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { local, path } = place;
    const own = await onLocal(OPERATION, local, () => lstat(local));
    const isLink = own.isSymbolicLink();
    if (isLink && this.#copy.symlinks === "skip") return;
    const isFollowed = isLink && this.#copy.symlinks === "follow";
    const found = isFollowed ? await onLocal(OPERATION, local, () => stat(local)) : own;
    const kind = kindOf(found);
    if (!(await this.#copy.takes({ path, kind, size: found.size }))) return;
    const upload = { ...place, stat: found };
    if (kind === "link") await this.#linkLater(upload);
    else if (kind === "file") await this.#file(upload, signal);
    else if (parent.above.has(identityOf(found))) throw endlessLink(OPERATION, local);
    else push((pushMore, later) => this.#directory({ ...upload, ...parent }, pushMore, later));
  }

  async #linkLater({ local, remote, path }: Upload): Promise<void> {
    const { files, supports } = this.#copy.access;
    if (!supports("fs/symlink")) throw noLinks(OPERATION, local);
    const bytes = await onLocal(OPERATION, local, () => readlink(local, { encoding: "buffer" }));
    const target = textOf(bytes, local);
    this.#copy.linkLater(path, (signal) => files.symlink(target, remote, { replace: true, signal }));
  }

  async #file(upload: Upload, signal: AbortSignal): Promise<void> {
    const { remote, path } = upload;
    const options = { ...this.#modeOf(upload), signal };
    const bytes = upload.stat.size <= SMALL_FILE_BYTES ? await this.#readSmall(upload) : undefined;
    if (bytes === undefined) {
      await this.#copy.largeFile(signal, () => withRestarts(() => this.#blocks(upload, options)));
    } else {
      await this.#copy.access.files.write(remote, bytes, options);
      this.#copy.copiedBytes(bytes.length, path);
    }
    this.#copy.copied("files", path);
  }

  /** Undefined if it has become a large file. */
  async #readSmall({ local }: Upload): Promise<Uint8Array | undefined> {
    const file = await this.#open(local);
    try {
      const bytes = new Uint8Array(SMALL_FILE_BYTES + 1);
      let length = 0;
      for (let isEnd = false; !isEnd && length < bytes.length; ) {
        const { bytesRead } = await onLocal(OPERATION, local, () =>
          file.read(bytes, length, bytes.length - length),
        );
        length += bytesRead;
        isEnd = bytesRead === 0;
      }
      return length <= SMALL_FILE_BYTES ? bytes.subarray(0, length) : undefined;
    } finally {
      await file.close();
    }
  }

  async #blocks(
    { local, remote, path }: Upload,
    options: { mode?: number; signal: AbortSignal },
  ): Promise<void> {
    // First, so that a file that cannot be read here replaces nothing there.
    const file = await this.#open(local);
    let sent = 0;
    const count = (bytes: number): void => {
      sent += bytes;
      this.#copy.copiedBytes(bytes, path);
    };
    try {
      await this.#writable(remote, options, () =>
        this.#copy.access.files.writeStream(remote, blocksOf(file, local, count), options),
      );
    } catch (error) {
      this.#copy.copiedBytes(-sent, path);
      throw error;
    } finally {
      await file.close();
    }
  }

  /**
   * Replaces a file even if it may only be read, as far as its owner can: an earlier attempt may have given it such a
   * mode.
   */
  async #writable(
    remote: string,
    { mode, signal }: { mode?: number; signal: AbortSignal },
    write: () => Promise<unknown>,
  ): Promise<void> {
    try {
      await write();
    } catch (error) {
      const isRefused = error instanceof FileError && error.code === "PERMISSION_DENIED";
      if (!isRefused || mode === undefined || error.path !== remote) throw error;
      await this.#copy.access.files.chmod(remote, mode | OWNER_MAY_WRITE, { signal });
      await write();
    }
  }

  #open(local: string): Promise<FileHandle> {
    return onLocal(OPERATION, local, () => openToRead(local, this.#reading));
  }

  get #reading(): { follow: boolean } {
    return { follow: this.#copy.symlinks === "follow" };
  }

  #modeOf({ stat: { mode } }: Upload): { mode: number } | { mode?: never } {
    return HAS_MODES && this.#copy.modes ? { mode: mode & COPIED_MODE_BITS } : {};
  }

  /** Whether a directory already exists where one will be uploaded. */
  async #isThere(remote: string, signal: AbortSignal): Promise<boolean> {
    try {
      const { kind } = await this.#copy.access.files.stat(remote, { signal });
      if (kind !== "directory") throw notADirectory(OPERATION, remote);
      return true;
    } catch (error) {
      if (error instanceof FileError && error.code === "NOT_FOUND") return false;
      throw error;
    }
  }
}

function kindOf(found: Stats): TreeEntry["kind"] {
  if (found.isSymbolicLink()) return "link";
  if (found.isDirectory()) return "directory";
  return found.isFile() ? "file" : "other";
}

function identityOf({ dev, ino }: Stats): string {
  return `${dev}:${ino}`;
}

/** What the wire can carry: paths and targets of links are text there. */
function textOf(bytes: Buffer, path: string): string {
  if (isUtf8(bytes)) return bytes.toString("utf8");
  const shown = JSON.stringify(bytes.toString("utf8"));
  throw new FileError("UNSUPPORTED", `${OPERATION} ${path}: ${shown} is not UTF-8`, { path });
}

/** A file in blocks. Each one is the same memory, so it is valid until the next is asked for. */
async function* blocksOf(
  file: FileHandle,
  path: string,
  taken: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  const block = new Uint8Array(BLOCK_BYTES);
  for (let position = 0; ; ) {
    const { bytesRead } = await onLocal(OPERATION, path, () => file.read(block, 0, block.length, position));
    if (bytesRead === 0) return;
    position += bytesRead;
    yield block.subarray(0, bytesRead);
    taken(bytesRead);
  }
}
