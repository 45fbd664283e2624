import { constants, type Stats } from "node:fs";
import {
  chmod,
  copyFile,
  lstat,
  readdir,
  readFile,
  readlink,
  realpath,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { createDirectory } from "./directories.ts";
import { type FileAccess, freeAccess } from "./file-access.ts";
import { invalidInput } from "./file-error.ts";
import { joinPath, type NativePath, splitPath } from "./native-path.ts";
import { WRITE_FLAGS } from "./write-file.ts";

/** Copies a file, a link as a link, or (if asked to) a directory with all that is in it, into an existing one if there is one. */
export async function copy(
  source: NativePath,
  destination: NativePath,
  { recursive }: { recursive: boolean },
  access: FileAccess = freeAccess,
): Promise<void> {
  const found = await access.onEntry(source, (entry) => lstat(entry));
  access.place(destination, { followSymlinks: true });
  if (found.isDirectory()) {
    if (!recursive) throw invalidInput("fs/copy requires recursive: true when sourcePath is a directory");
    await refuseCopyIntoItself(source, destination);
  }
  if (!(await new Copier(access).copyEntry(source, destination, found)))
    throw invalidInput("fs/copy only supports regular files, directories, and symlinks");
}

/** Every entry is looked up anew, because links in the destination may lead anywhere. */
class Copier {
  readonly #access: FileAccess;

  constructor(access: FileAccess) {
    this.#access = access;
  }

  /** False for what cannot be copied, such as a pipe. In a directory it is passed over. */
  async copyEntry(source: NativePath, destination: NativePath, found: Stats): Promise<boolean> {
    if (found.isDirectory()) await this.#copyDirectory(source, destination);
    else if (found.isSymbolicLink()) await this.#copyLink(source, destination);
    else if (found.isFile()) await this.#copyFile(source, destination, found);
    else return false;
    return true;
  }

  async #copyLink(source: NativePath, destination: NativePath): Promise<void> {
    const target = await this.#access.onEntry(source, (entry) => readlink(entry, { encoding: "buffer" }));
    await this.#access.onEntry(destination, (entry) => symlink(target, entry));
  }

  async #copyFile(source: NativePath, destination: NativePath, found: Stats): Promise<void> {
    await this.#access.onTarget(source, { followSymlinks: false }, (from) =>
      this.#access.onTarget(destination, { followSymlinks: true, create: true }, (to) =>
        copyContents(from, to, found),
      ),
    );
  }

  async #copyDirectory(source: NativePath, destination: NativePath): Promise<void> {
    const { path, followSymlinks } = this.#access.place(destination, { followSymlinks: true });
    createDirectory(path, { recursive: true, followSymlinks });
    const names = await this.#access.onTarget(source, { followSymlinks: false }, (directory) =>
      readdir(directory, { encoding: "buffer" }),
    );
    for (const name of names) {
      const from = joinPath(source, name);
      const found = await this.#access.onEntry(from, (entry) => lstat(entry));
      await this.copyEntry(from, joinPath(destination, name), found);
    }
  }
}

async function copyContents(source: NativePath, destination: NativePath, found: Stats): Promise<void> {
  const target = await stat(destination).catch(() => undefined);
  const isSpecial = target !== undefined && !target.isFile() && !target.isDirectory();
  // Files of /proc say that they are empty, and are believed by the quick way, which would also wait for a reader of a pipe.
  if (isSpecial || found.size === 0) {
    const bytes = await readFile(source);
    await writeFile(destination, bytes, { flag: WRITE_FLAGS, mode: found.mode });
    if (!isSpecial) await chmod(destination, found.mode);
  } else {
    await copyFile(source, destination, constants.COPYFILE_FICLONE);
  }
}

async function refuseCopyIntoItself(source: NativePath, destination: NativePath): Promise<void> {
  const sourceStat = await stat(source);
  let ancestor = await nearestExisting(destination);
  for (;;) {
    const found = await stat(ancestor);
    if (found.dev === sourceStat.dev && found.ino === sourceStat.ino)
      throw invalidInput("fs/copy cannot copy a directory to itself or one of its descendants");
    const { directory } = splitPath(ancestor);
    if (directory.length === ancestor.length) return;
    ancestor = directory;
  }
}

async function nearestExisting(path: NativePath): Promise<NativePath> {
  try {
    return await realpath(path, { encoding: "buffer" });
  } catch (error) {
    const { directory } = splitPath(path);
    // Missing, or a link that leads nowhere: what is above it exists.
    if (directory.length === path.length) throw error;
    return nearestExisting(directory);
  }
}
