import { randomUUID } from "node:crypto";
import { chmod, type FileHandle, lstat, mkdir, open, realpath, rename, rm, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ProtocolError } from "../../../base/errors.ts";
import { decodeBytes } from "../../session/wire-bytes.ts";
import { FileError, toFileError } from "../file-error.ts";
import { uriOf } from "../file-path.ts";
import type { DetailedEntry } from "../file-stat.ts";
import type { TreeAccess, TreeEntry, TreeOptions, TreeResult } from "../trees.ts";
import { onLocal } from "./local-error.ts";
import type { Task } from "./task-stack.ts";
import {
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

const OPERATION = "downloadTree";
const NEW_FILE_MODE = 0o666;
const NEW_DIRECTORY_MODE = 0o777;
/** Modes of files and directories until they are complete. */
const PRIVATE_FILE_MODE = 0o600;
const PRIVATE_DIRECTORY_MODE = 0o700;
/** On Windows these are more than a name: separators, drives and file streams. */
const SPECIAL_ON_WINDOWS = /[\\/:]/;

/** One entry being downloaded. */
interface Download {
  readonly remote: string;
  readonly local: string;
  /** Path for callers; empty for the downloaded directory itself. */
  readonly path: string;
  readonly size: number;
  /** Absent if the server does not report it. */
  readonly mode: number | undefined;
}

interface DirectoryDownload extends Download {
  /** Its path without links, and those of its parent directories. Empty unless links are followed. */
  readonly real: string;
  readonly above: ReadonlySet<string>;
}

/** An entry as the server describes it. */
interface Found {
  readonly kind: TreeEntry["kind"];
  readonly size: number;
  readonly mode: number | undefined;
}

/**
 * Copies a directory of the server's machine into one of this machine. Nothing is written outside it, whatever the
 * server says: names are checked, existing directories must not be links, files replace what has their name instead of
 * being written through it, and links are created last.
 */
export async function downloadTree(
  access: TreeAccess,
  remote: string,
  local: string,
  options: TreeOptions,
): Promise<TreeResult> {
  const copy = new TreeCopy(access, options);
  const { signal } = options;
  const request = signal === undefined ? {} : { signal };
  const { kind, size, mode } = await access.files.stat(remote, request);
  if (kind !== "directory") throw notADirectory(OPERATION, remote);
  const real = copy.symlinks === "follow" ? await access.files.realpath(remote, request) : "";
  const downloader = new Downloader(copy);
  return downloader.run({ remote, local, path: "", size, mode, real, above: new Set() });
}

/** Where a directory is filled, and whether it was created for that. */
interface MadeDirectory {
  readonly local: string;
  readonly isNew: boolean;
}

class Downloader {
  readonly #copy: TreeCopy;

  constructor(copy: TreeCopy) {
    this.#copy = copy;
  }

  run(root: DirectoryDownload): Promise<TreeResult> {
    return this.#copy.run((push, signal) =>
      this.#directory(root, () => makeTarget(root.local), push, signal),
    );
  }

  async #directory(
    download: DirectoryDownload,
    make: () => Promise<MadeDirectory>,
    push: (task: Task) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { remote, path, real } = download;
    // Listed before it is created, so that a copy into the directory itself does not find itself.
    const entries = await this.#list(remote, signal);
    const { local, isNew } = await make();
    const mode = this.#modeOf(download);
    if (isNew && mode !== undefined)
      this.#copy.setModeLater(path, () => onLocal(OPERATION, local, () => chmod(local, mode)));
    this.#copy.copied("directories", path);
    const above = new Set([...download.above, real]);
    // The last one pushed is the first one taken.
    for (const entry of entries.reverse()) {
      const place = {
        remote: joinRemote(remote, entry.name),
        local: join(local, checkedName(entry.name, remote)),
        path: joinRelative(path, entry.name),
        real: joinRemote(real, entry.name),
        above,
      };
      push((pushMore, later) => this.#entry(place, entry, pushMore, later));
    }
  }

  /** With details if the server has them; otherwise each entry is requested separately. */
  async #list(
    remote: string,
    signal: AbortSignal,
  ): Promise<(Pick<DetailedEntry, "name"> & Partial<DetailedEntry>)[]> {
    const { files, supports } = this.#copy.access;
    const entries = supports("fs/readDirectory.detailed")
      ? await files.listDetails(remote, { signal })
      : (await files.list(remote, { signal })).map(({ name }) => ({ name }));
    const twice = entries.find(({ name }, index) => entries[index + 1]?.name === name);
    if (twice !== undefined)
      throw new ProtocolError(`${OPERATION} ${remote}: the server named ${JSON.stringify(twice.name)} twice`);
    return entries;
  }

  async #entry(
    place: Omit<DirectoryDownload, "size" | "mode">,
    entry: Partial<DetailedEntry>,
    push: (task: Task) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { remote, path } = place;
    const listed = await this.#describe(remote, entry, signal);
    const isLink = listed.kind === "link";
    if (isLink && this.#copy.symlinks === "skip") return;
    const isFollowed = isLink && this.#copy.symlinks === "follow";
    const found = isFollowed ? await this.#copy.access.files.stat(remote, { signal }) : listed;
    if (!(await this.#copy.takes({ path, kind: found.kind, size: found.size }))) return;
    const download = { ...place, size: found.size, mode: found.mode };
    if (found.kind === "link") await this.#linkLater(download, signal);
    else if (found.kind === "file") await this.#file(download, signal);
    else {
      const real = isFollowed ? await this.#copy.access.files.realpath(remote, { signal }) : place.real;
      if (isFollowed && place.above.has(real)) throw endlessLink(OPERATION, remote);
      const newMode = this.#modeOf(download) === undefined ? NEW_DIRECTORY_MODE : PRIVATE_DIRECTORY_MODE;
      const make = (): Promise<MadeDirectory> => makeDirectory(place.local, newMode);
      push((pushMore, later) => this.#directory({ ...download, real }, make, pushMore, later));
    }
  }

  async #describe(remote: string, entry: Partial<DetailedEntry>, signal: AbortSignal): Promise<Found> {
    const { kind, size, mode } = entry;
    if (kind !== undefined && size !== undefined) return { kind, size, mode };
    const found = await this.#copy.access.files.stat(remote, { signal });
    return { kind: found.isSymlink ? "link" : found.kind, size: found.size, mode: undefined };
  }

  async #linkLater({ remote, local, path }: Download, signal: AbortSignal): Promise<void> {
    const { files, supports } = this.#copy.access;
    if (!supports("fs/readLink")) throw noLinks(OPERATION, remote);
    const target = await files.readLink(remote, { signal });
    this.#copy.linkLater(path, () =>
      putInPlace(local, (temporary) => onLocal(OPERATION, local, () => symlink(target, temporary))),
    );
  }

  async #file(download: Download, signal: AbortSignal): Promise<void> {
    const { local, path } = download;
    const mode = this.#modeOf(download);
    await putInPlace(local, async (temporary) => {
      const file = await onLocal(OPERATION, local, () =>
        open(temporary, "wx", mode === undefined ? NEW_FILE_MODE : PRIVATE_FILE_MODE),
      );
      try {
        if (download.size <= SMALL_FILE_BYTES) await this.#whole(download, file, signal);
        else await this.#copy.largeFile(signal, () => this.#blocks(download, file, signal));
        if (mode !== undefined) await onLocal(OPERATION, local, () => file.chmod(mode));
      } finally {
        await file.close();
      }
    });
    this.#copy.copied("files", path);
  }

  async #whole({ remote, local, path }: Download, file: FileHandle, signal: AbortSignal): Promise<void> {
    const { dataBase64 } = await this.#copy.access.caller
      .request("fs/readFile", { path: uriOf(remote) }, { signal })
      .catch((error) => Promise.reject(toFileError(error, OPERATION, remote)));
    const bytes = decodeBytes(dataBase64, "the answer of fs/readFile");
    await onLocal(OPERATION, local, () => file.writeFile(bytes));
    this.#copy.copiedBytes(bytes.length, path);
  }

  /** Continues after a lost connection, unless the file has changed meanwhile. */
  async #blocks({ remote, local, path }: Download, file: FileHandle, signal: AbortSignal): Promise<void> {
    const { files } = this.#copy.access;
    let written = 0;
    let version: string | undefined;
    await withRestarts(async (progressed) => {
      const { size, modified } = await files.stat(remote, { signal });
      const current = `${size} ${modified.getTime()}`;
      if (version !== current) {
        this.#copy.copiedBytes(-written, path);
        await onLocal(OPERATION, local, () => file.truncate(0));
        written = 0;
        version = current;
      }
      for await (const block of files.readStream(remote, { offset: written, signal })) {
        await onLocal(OPERATION, local, () => writeAll(file, block, written));
        written += block.length;
        progressed();
        this.#copy.copiedBytes(block.length, path);
      }
    });
  }

  #modeOf({ mode }: Download): number | undefined {
    return this.#copy.modes && mode !== undefined ? mode & COPIED_MODE_BITS : undefined;
  }
}

/** The directory that the caller has chosen, so links on the way to it are followed. */
async function makeTarget(path: string): Promise<MadeDirectory> {
  const created = await onLocal(OPERATION, path, () => mkdir(path, { recursive: true }));
  return { local: await onLocal(OPERATION, path, () => realpath(path)), isNew: created !== undefined };
}

/** A directory in it. An existing one must be a directory, and not a link to one. */
async function makeDirectory(path: string, mode: number): Promise<MadeDirectory> {
  try {
    await onLocal(OPERATION, path, () => mkdir(path, { mode }));
    return { local: path, isNew: true };
  } catch (error) {
    const found = await lstat(path).catch(() => undefined);
    if (found?.isDirectory()) return { local: path, isNew: false };
    if (found === undefined) throw error;
    const what = found.isSymbolicLink()
      ? "it is a symbolic link, which is not followed"
      : "it is not a directory";
    throw new FileError("INVALID_INPUT", `${OPERATION} ${path}: ${what}`, { path, errno: "ENOTDIR" });
  }
}

/**
 * Creates a file under a temporary name and renames it, so that a link in its place is replaced, not followed. Leaves
 * nothing behind on failure.
 */
async function putInPlace(path: string, make: (temporary: string) => Promise<void>): Promise<void> {
  const temporary = join(dirname(path), `.exec-server-${randomUUID()}`);
  try {
    await make(temporary);
    await onLocal(OPERATION, path, () => rename(temporary, path));
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

async function writeAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    const part = await file.write(bytes, written, bytes.length - written, position + written);
    written += part.bytesWritten;
  }
}

/** The library has already refused names that are invalid on every system. */
function checkedName(name: string, directory: string): string {
  if (process.platform === "win32" && SPECIAL_ON_WINDOWS.test(name)) {
    const path = joinRemote(directory, name);
    throw new FileError("UNSUPPORTED", `${OPERATION} ${path}: Windows does not allow this name`, { path });
  }
  return name;
}
