import { constants } from "node:fs";
import { chmod, type FileHandle, mkdir, open, readdir, readlink, rename, symlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

// Another program may replace a directory with a link while a tree is copied, even between two calls. Linux says
// where an open file is, so everything is opened first and then checked. On other systems only a link at the end of a
// path is noticed. Paths must not contain links themselves.

/** Windows has neither. */
const { O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants as Partial<typeof constants>;
/** Opens something without access to its contents, also a link itself; Linux only. */
const O_PATH = 0o10000000;
const { O_CREAT, O_DIRECTORY, O_EXCL, O_RDONLY, O_WRONLY } = constants;
/** Maximum length of a path in Linux, including the terminating NUL. */
const PATH_MAX = 4096;
const IS_LINUX = process.platform === "linux";

/** Opens a regular file for reading. A pipe in its place does not block. Follows links only on request. */
export async function openToRead(path: string, { follow }: { follow: boolean }): Promise<FileHandle> {
  const file = await (follow ? open(path, O_RDONLY | O_NONBLOCK) : openInPlace(path, O_RDONLY | O_NONBLOCK));
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw systemError("EINVAL", "it is no longer a regular file");
}

/** Creates a file that must not exist. */
export function createInPlace(path: string, mode: number): Promise<FileHandle> {
  return onEntry(path, (entry) => open(entry, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode));
}

/**
 * Opens a file to continue it, or creates it. Its name can be guessed, so whatever another user may have put in its
 * place is refused: a link, a file of theirs, and one with a second name.
 */
export async function openPartInPlace(path: string, mode: number): Promise<FileHandle> {
  try {
    return await createInPlace(path, mode);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  const file = await openInPlace(path, O_WRONLY | O_NONBLOCK);
  const stat = await file.stat();
  const isOwn = process.getuid === undefined || (stat.uid === process.getuid() && stat.nlink === 1);
  if (isOwn && stat.isFile()) return file;
  await file.close();
  throw systemError("EPERM", `${path} is not exclusively this user's file, so it is not resumed`);
}

/** Creates a link that must not exist. */
export async function linkInPlace(target: string, path: string): Promise<void> {
  await onEntry(path, (entry) => symlink(target, entry));
}

/** Throws if a path is not a directory, or is one only through a link. */
export async function checkDirectory(path: string): Promise<void> {
  if (IS_LINUX) await (await openInPlace(path, O_PATH | O_DIRECTORY)).close();
}

export async function makeDirectoryInPlace(path: string, mode: number): Promise<void> {
  await onEntry(path, (entry) => mkdir(entry, { mode }));
}

/** Puts a file where another one may be, in the same directory. */
export async function renameInPlace(from: string, to: string): Promise<void> {
  await withinDirectory(dirname(to), (within) =>
    rename(join(within, basename(from)), join(within, basename(to))),
  );
}

/** Sets the mode of a regular file, also of one that its owner may not read. */
export async function chmodFile(path: string, mode: number): Promise<void> {
  let isReadable = true;
  await using file = await openToRead(path, { follow: false }).catch((error: NodeJS.ErrnoException) => {
    if (!IS_LINUX || error.code !== "EACCES") throw error;
    isReadable = false;
    return openInPlace(path, O_PATH);
  });
  await (isReadable ? file.chmod(mode) : chmod(descriptorPath(file), mode));
}

export async function chmodDirectory(path: string, mode: number): Promise<void> {
  if (IS_LINUX) await inDirectory(path, (directory) => directory.chmod(mode));
  else await chmod(path, mode);
}

/** Names in a directory, as bytes. Follows links only on request. */
export async function listDirectory(path: string, { follow }: { follow: boolean }): Promise<Buffer[]> {
  if (follow || !IS_LINUX) return readdir(path, { encoding: "buffer" });
  return withinDirectory(path, (within) => readdir(within, { encoding: "buffer" }));
}

/**
 * Works with the entries of a directory. `within` is a path to the directory as it was opened, even if its name leads
 * elsewhere meanwhile; without /proc it is the name.
 */
export function withinDirectory<T>(path: string, work: (within: string) => Promise<T>): Promise<T> {
  if (!IS_LINUX) return work(path);
  return inDirectory(
    path,
    async (directory) => work((await pathOf(directory)) === undefined ? path : descriptorPath(directory)),
    O_PATH,
  );
}

async function onEntry<T>(path: string, work: (entry: string) => Promise<T>): Promise<T> {
  // Relative to such a directory, an entry could be created that no path can name.
  if (IS_LINUX && Buffer.byteLength(path) >= PATH_MAX) throw systemError("ENAMETOOLONG", "name too long");
  return withinDirectory(dirname(path), (within) => work(join(within, basename(path))));
}

async function inDirectory<T>(
  path: string,
  work: (directory: FileHandle) => Promise<T>,
  flags = O_RDONLY,
): Promise<T> {
  await using directory = await openInPlace(path, flags | O_DIRECTORY).catch(
    (error: NodeJS.ErrnoException) => {
      throw error.code === "ENOTDIR" ? replaced("ENOTDIR") : error;
    },
  );
  return await work(directory);
}

async function openInPlace(path: string, flags: number): Promise<FileHandle> {
  const file = await open(path, flags | O_NOFOLLOW);
  const openedPath = await pathOf(file);
  // If it was removed since it was opened, it did exist.
  if (openedPath === undefined || openedPath === path || openedPath === `${path} (deleted)`) return file;
  await file.close();
  throw replaced("ELOOP");
}

function replaced(code: "ELOOP" | "ENOTDIR"): Error {
  return systemError(code, "a directory on the way to it was replaced in the meantime");
}

/** Path of an open file; undefined if the system does not say, or not as text. */
async function pathOf(file: FileHandle): Promise<string | undefined> {
  if (!IS_LINUX) return undefined;
  try {
    const path = await readlink(descriptorPath(file));
    return path.includes("\ufffd") ? undefined : path;
  } catch {
    return undefined; // /proc is missing, or the path is too long for it.
  }
}

function descriptorPath({ fd }: FileHandle): string {
  return `/proc/self/fd/${fd}`;
}

/** In the form of Node's errors. */
function systemError(code: string, reason: string): Error {
  return Object.assign(new Error(`${code}: ${reason}`), { code, syscall: "open" });
}
