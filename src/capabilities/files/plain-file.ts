import { closeSync, fstatSync, lstatSync, readlinkSync, type Stats, statSync } from "node:fs";
import { libc, toCString } from "../../native/libc.ts";
import { ERRNO, isErrno, osError } from "../../native/os-error.ts";
import { withoutCapabilities } from "../../native/privileges.ts";
import { fileSystemOf, PROC } from "./file-systems.ts";
import { describe, type Metadata } from "./metadata.ts";
import { joinPath, type NativePath, splitPath } from "./native-path.ts";
import { OPEN_FLAGS, readSmall, SMALL_FILE_BYTES } from "./read-file.ts";

/** The same number on every processor. */
const OPENAT2 = 437;
const AT_FDCWD = -100;
const O_CLOEXEC = 0o2000000;
const O_PATH = 0o10000000;
const RESOLVE_NO_MAGICLINKS = 2n;

/**
 * For a client that may read the whole disk from inside a sandbox: judges what was opened, never the path, and opens it
 * without privileges, because there are none inside. Results are undefined if the answer must come from inside:
 * `mayRead` refuses, or the file belongs to /dev, which differs inside, or to /proc, which shows a process its own
 * environment, memory and open files. They throw if the file does not exist.
 */
type MayRead = (realPath: string) => boolean;

/** The contents of a small regular file, valid until the next read. */
export function readPlainFile(path: NativePath, mayRead: MayRead): Buffer | undefined {
  return withoutCapabilities(() => {
    // Checked before opening, because opening some devices has side effects.
    if (!isSmallFile(statReadable(path, statSync, mayRead))) return undefined;
    return withPlain(path, OPEN_FLAGS, mayRead, (fd, stat) =>
      // A file without a name is one that some process has open.
      isSmallFile(stat) && stat.nlink > 0 ? readSmall(fd, stat.size) : undefined,
    );
  });
}

/** Links are followed. */
export function readPlainMetadata(path: NativePath, mayRead: MayRead): Metadata | undefined {
  return withoutCapabilities(() => {
    const own = statReadable(path, lstatSync, mayRead);
    if (own === undefined) return undefined;
    return withPlain(path, O_PATH, mayRead, (_, stat) => describe(stat, own.isSymbolicLink()));
  });
}

function isSmallFile(stat: Stats | undefined): boolean {
  return stat !== undefined && stat.isFile() && stat.size <= SMALL_FILE_BYTES;
}

/** Undefined for an error that needs no haste. */
function statReadable(
  path: NativePath,
  stat: (path: NativePath) => Stats,
  mayRead: MayRead,
): Stats | undefined {
  try {
    return stat(path);
  } catch (error) {
    if (isErrno(error, "ENOENT") && isMissing(path, mayRead)) throw osError(ERRNO.ENOENT);
    return undefined;
  }
}

/** Whether it does not exist inside, either: the directory that would contain it is the same there. */
function isMissing(path: NativePath, mayRead: MayRead): boolean {
  for (let at = splitPath(path); ; at = splitPath(at.directory)) {
    // A link that leads nowhere outside.
    if (lstatSync(joinPath(at.directory, at.name), { throwIfNoEntry: false }) !== undefined) return false;
    if (lstatSync(at.directory, { throwIfNoEntry: false })?.isDirectory() !== true) continue;
    return withPlain(at.directory, O_PATH, mayRead, () => true) ?? false;
  }
}

function withPlain<T>(
  path: NativePath,
  flags: number,
  mayRead: MayRead,
  use: (fd: number, stat: Stats) => T,
): T | undefined {
  const fd = openWithoutMagic(path, flags);
  if (fd === undefined) return undefined;
  try {
    if (fileSystemOf(fd) === PROC) return undefined;
    const realPath = readlinkSync(`/proc/self/fd/${fd}`);
    if (realPath === "/dev" || realPath.startsWith("/dev/")) return undefined;
    const stat = fstatSync(fd);
    return mayRead(realPath) ? use(fd, stat) : undefined;
  } finally {
    closeSync(fd);
  }
}

const how = new BigUint64Array(3);

/** Follows ordinary links, but not those of /proc, whose targets no path can reach. */
function openWithoutMagic(path: NativePath, flags: number): number | undefined {
  how.set([BigInt(flags | O_CLOEXEC), 0n, RESOLVE_NO_MAGICLINKS]);
  const fd = libc().openat2(OPENAT2, AT_FDCWD, toCString(path), how, how.byteLength);
  return fd < 0 ? undefined : fd;
}
