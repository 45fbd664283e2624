import { randomUUID } from "node:crypto";
import { type FileHandle, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ProtocolError } from "../../../base/errors.ts";
import { decodeBytes } from "../../session/wire-bytes.ts";
import { FileError, toFileError } from "../file-error.ts";
import { uriOf } from "../file-path.ts";
import type { DetailedEntry } from "../file-stat.ts";
import type { TreeAccess, TreeEntry, TreeOptions, TreeResult } from "../trees.ts";
import { chmodDirectory, createInPlace, linkInPlace } from "./in-place.ts";
import { onLocal } from "./local-error.ts";
import { type MadeDirectory, makeDirectory, makeTarget } from "./made-directory.ts";
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
  checkLocalPath(local);
  const copy = new TreeCopy(access, options);
  const { signal } = options;
  const request = signal === undefined ? {} : { signal };
  const { kind, size, mode } = await access.files.stat(remote, request);
  if (kind !== "directory") throw notADirectory(OPERATION, remote);
  const real = copy.symlinks === "follow" ? await access.files.realpath(remote, request) : "";
  const downloader = new Downloader(copy);
  return downloader.run({ remote, local, path: "", size, mode, real, above: new Set() });
}

class Downloader {
  readonly #copy: TreeCopy;
  /** Beginning of the names of unfinished files. */
  readonly #unfinished = `.exec-server-${randomUUID()}-`;
  #files = 0;

  constructor(copy: TreeCopy) {
    this.#copy = copy;
  }

  run(root: DirectoryDownload): Promise<TreeResult> {
    return this.#copy.run((push, signal) =>
      this.#directory(root, () => makeTarget(OPERATION, root.local, this.#newMode(root)), push, signal),
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
      this.#copy.setModeLater(path, () => onLocal(OPERATION, local, () => chmodDirectory(local, mode)));
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
    // A copy into the tree itself would find its own.
    return entries.filter(({ name }) => !name.startsWith(this.#unfinished));
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
      const make = (): Promise<MadeDirectory> =>
        makeDirectory(OPERATION, place.local, this.#newMode(download));
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
      this.#putInPlace(local, (temporary) => onLocal(OPERATION, local, () => linkInPlace(target, temporary))),
    );
  }

  async #file(download: Download, signal: AbortSignal): Promise<void> {
    const { local, path } = download;
    const mode = this.#modeOf(download);
    await this.#putInPlace(local, async (temporary) => {
      const file = await onLocal(OPERATION, local, () =>
        createInPlace(temporary, mode === undefined ? NEW_FILE_MODE : PRIVATE_FILE_MODE),
      );
      try {
        if (download.size <= SMALL_FILE_BYTES) await this.#whole(download, file, signal);
        else await this.#copy.largeFile(signal, () => this.#blocks(download, file, signal));
        if (mode !== undefined) await onLocal(OPERATION, local, () => file.chmod(mode));
      } finally {
        await onLocal(OPERATION, local, () => file.close());
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

  /**
   * Creates a file under a temporary name and renames it, so that a link in its place is replaced, not followed. Leaves
   * nothing behind on failure.
   */
  async #putInPlace(path: string, make: (temporary: string) => Promise<void>): Promise<void> {
    this.#files += 1;
    const temporary = join(dirname(path), `${this.#unfinished}${this.#files}`);
    try {
      await make(temporary);
      await onLocal(OPERATION, path, () => rename(temporary, path));
    } catch (error) {
      await rm(temporary, { force: true }).catch(() => {}); // The first failure is the one to tell.
      throw error;
    }
  }

  #modeOf({ mode }: Download): number | undefined {
    return this.#copy.modes && mode !== undefined ? mode & COPIED_MODE_BITS : undefined;
  }

  /** Mode of a directory until it is filled. */
  #newMode(download: Download): number {
    return this.#modeOf(download) === undefined ? NEW_DIRECTORY_MODE : PRIVATE_DIRECTORY_MODE;
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
