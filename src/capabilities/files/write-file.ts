import { randomBytes } from "node:crypto";
import {
  accessSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  ftruncateSync,
  lstatSync,
  openSync,
  realpathSync,
  renameSync,
  type Stats,
  unlinkSync,
  write,
  writeSync,
} from "node:fs";
import { promisify } from "node:util";
import { libc } from "../libc.ts";
import { ERRNO, osError } from "../os-error.ts";
import { invalidInput } from "./file-error.ts";
import { joinPath, type NativePath, splitPath } from "./native-path.ts";
import { openNoFollow } from "./no-follow.ts";

const writeAsync = promisify(write);

const SMALL_FILE_BYTES = 64 * 1024;
export const NEW_FILE_MODE = 0o666;
/** Opening never waits, as it would on a pipe that nobody reads. */
export const WRITE_FLAGS =
  constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NONBLOCK | constants.O_NOCTTY;
const O_TMPFILE = 0o20000000 | constants.O_DIRECTORY;
const AT_FDCWD = -100;
const AT_SYMLINK_FOLLOW = 0x400;

/**
 * Creates or replaces a file. The new contents are written beside the old and take their place in one step, so that a full disk or a crash leaves the
 * old file or the new one, never a part. Where a new file could not be the same as the old in all but its contents (other names, another owner,
 * extended attributes) it is written in place.
 */
export async function writeFile(
  path: NativePath,
  bytes: Uint8Array,
  { followSymlinks }: { followSymlinks: boolean },
): Promise<void> {
  if (!followSymlinks) {
    await overwrite(openRegularNoFollow(path), bytes);
    return;
  }
  const target = resolveLinks(path);
  const existing = lstatSync(target, { throwIfNoEntry: false });
  // Whoever may not write a file may not replace it either, though the directory would allow it.
  if (existing?.isFile()) accessSync(target, constants.W_OK);
  const done =
    (existing === undefined || isReplaceable(target, existing)) && (await replace(target, bytes, existing));
  if (!done) await overwrite(openSync(target, WRITE_FLAGS & ~constants.O_TRUNC, NEW_FILE_MODE), bytes);
}

/** Writes in place. Room is made for all of it first, so that a full disk leaves the old contents. Closes the descriptor. */
async function overwrite(fd: number, bytes: Uint8Array): Promise<void> {
  try {
    const stat = fstatSync(fd);
    if (stat.isFile()) reserve(fd, stat.size, bytes.length);
    await writeAll(fd, bytes);
    if (stat.isFile()) ftruncateSync(fd, bytes.length);
  } finally {
    closeSync(fd);
  }
}

function reserve(fd: number, oldSize: number, newSize: number): void {
  if (newSize === 0 || libc().fallocate(fd, 0, 0, newSize) === 0) return;
  const errno = libc().errno();
  // Where the file system cannot make room beforehand, the writing will tell.
  if (errno === ERRNO.EOPNOTSUPP || errno === ERRNO.ENOSYS) return;
  ftruncateSync(fd, oldSize);
  throw osError(errno);
}

function openRegularNoFollow(path: NativePath): number {
  const fd = openNoFollow(path, WRITE_FLAGS & ~constants.O_TRUNC, NEW_FILE_MODE);
  if (fstatSync(fd).isFile()) return fd;
  closeSync(fd);
  throw invalidInput("path is not a regular file");
}

/** The file that a chain of links leads to, also when it does not exist yet. */
function resolveLinks(path: NativePath): NativePath {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined || !stat.isSymbolicLink()) return path;
  try {
    return realpathSync(path, { encoding: "buffer" });
  } catch (error) {
    // A link to nothing: opening it creates its target, which is left to the system.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return path;
    throw error;
  }
}

function isReplaceable(path: NativePath, stat: Stats): boolean {
  const uid = process.geteuid?.();
  const sameOwner = stat.uid === uid || uid === 0;
  return stat.isFile() && stat.nlink === 1 && sameOwner && !hasExtendedAttributes(path);
}

function hasExtendedAttributes(path: NativePath): boolean {
  const size = libc().listxattr(cString(path), Buffer.alloc(1), 0);
  // A file system without such attributes says so by an error.
  return size > 0;
}

/** False when the directory does not allow it; nothing has happened then. */
async function replace(path: NativePath, bytes: Uint8Array, existing: Stats | undefined): Promise<boolean> {
  const { directory } = splitPath(path);
  const temporary = openTemporary(directory);
  if (temporary === undefined) return false;
  const { fd } = temporary;
  let { name } = temporary;
  try {
    await writeAll(fd, bytes);
    if (existing !== undefined && !copyIdentity(fd, existing)) return false;
    if (name === undefined) {
      if (existing === undefined && link(fd, path)) return true;
      name = temporaryName(directory);
      if (!link(fd, name)) return false;
    }
    renameSync(name, path);
    name = undefined;
    return true;
  } catch (error) {
    if (name !== undefined) unlinkSync(name);
    // The file itself is a mount point, so nothing can take its place.
    if ((error as NodeJS.ErrnoException).code === "EBUSY") return false;
    throw error;
  } finally {
    closeSync(fd);
  }
}

/** A file without a name, where the file system has such: it vanishes with a crash. Elsewhere one with a name. */
function openTemporary(directory: NativePath): { fd: number; name: NativePath | undefined } | undefined {
  try {
    return { fd: openSync(directory, O_TMPFILE | constants.O_WRONLY, NEW_FILE_MODE), name: undefined };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EACCES" || code === "EPERM" || code === "EROFS") return undefined;
    if (code === "ENOENT" || code === "ENOTDIR") throw error;
  }
  const name = temporaryName(directory);
  return {
    fd: openSync(name, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, NEW_FILE_MODE),
    name,
  };
}

function temporaryName(directory: NativePath): NativePath {
  return joinPath(directory, `.exec-server-${randomBytes(8).toString("hex")}`);
}

function link(fd: number, path: NativePath): boolean {
  const from = Buffer.from(`/proc/self/fd/${fd}\0`);
  if (libc().linkat(AT_FDCWD, from, AT_FDCWD, cString(path), AT_SYMLINK_FOLLOW) === 0) return true;
  const errno = libc().errno();
  if (errno === ERRNO.EEXIST || errno === ERRNO.ENOENT) return false;
  throw osError(errno);
}

/** False when the system does not let the new file have the old one's owner. */
function copyIdentity(fd: number, { uid, gid, mode }: Stats): boolean {
  try {
    if (uid !== process.geteuid?.() || gid !== process.getegid?.()) fchownSync(fd, uid, gid);
    fchmodSync(fd, mode & 0o7777);
    return true;
  } catch {
    return false;
  }
}

async function writeAll(fd: number, bytes: Uint8Array): Promise<void> {
  let written = 0;
  while (written < bytes.length) {
    const rest = bytes.length - written;
    written +=
      rest <= SMALL_FILE_BYTES
        ? writeSync(fd, bytes, written, rest)
        : (await writeAsync(fd, bytes, written, rest)).bytesWritten;
  }
}

function cString(path: NativePath): Buffer {
  return Buffer.concat([Buffer.from(path), Buffer.alloc(1)]);
}
