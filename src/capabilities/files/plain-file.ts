import { closeSync, fstatSync, lstatSync, readlinkSync, type Stats, statfsSync, statSync } from "node:fs";
import { libc } from "../../native/libc.ts";
import { ERRNO, isErrno, osError } from "../../native/os-error.ts";
import { describe, type Metadata } from "./metadata.ts";
import { type NativePath, toCString } from "./native-path.ts";
import { OPEN_FLAGS, readSmall, SMALL_FILE_BYTES } from "./read-file.ts";

/** The same number on every processor. */
const OPENAT2 = 437;
const AT_FDCWD = -100;
const O_CLOEXEC = 0o2000000;
const O_PATH = 0o10000000;
const RESOLVE_NO_MAGICLINKS = 2n;
const PROC_SUPER_MAGIC = 0x9fa0;

/**
 * For somebody who may read the whole disk, but nothing of this process: decides by what was opened, never by the path.
 * The results are undefined if the answer must come from elsewhere: `mayRead` refuses, or the file belongs to /proc,
 * which shows a process its own environment, memory and open files. They throw if there is no such file.
 */
type MayRead = (opened: string) => boolean;

/** The contents of a small regular file, valid until the next read. */
export function readPlainFile(path: NativePath, mayRead: MayRead): Buffer | undefined {
  // Checked before opening, because opening some devices has side effects.
  if (!isSmallFile(look(() => statSync(path)))) return undefined;
  return withPlain(path, OPEN_FLAGS, mayRead, (fd, stat) =>
    // A file without a name is one that some process has open.
    isSmallFile(stat) && stat.nlink > 0 ? readSmall(fd, stat.size) : undefined,
  );
}

/** Links are followed. */
export function readPlainMetadata(path: NativePath, mayRead: MayRead): Metadata | undefined {
  const own = look(() => lstatSync(path));
  if (own === undefined) return undefined;
  return withPlain(path, O_PATH, mayRead, (_, stat) => describe(stat, own.isSymbolicLink()));
}

function isSmallFile(stat: Stats | undefined): boolean {
  return stat !== undefined && stat.isFile() && stat.size <= SMALL_FILE_BYTES;
}

/** Undefined for an error that needs no haste. */
function look(stat: () => Stats): Stats | undefined {
  try {
    return stat();
  } catch (error) {
    if (isErrno(error, "ENOENT")) throw osError(ERRNO.ENOENT);
    return undefined;
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
    const stat = fstatSync(fd);
    const opened = `/proc/self/fd/${fd}`;
    const isOfProcess = statfsSync(opened).type === PROC_SUPER_MAGIC;
    return isOfProcess || !mayRead(readlinkSync(opened)) ? undefined : use(fd, stat);
  } finally {
    closeSync(fd);
  }
}

const how = new BigUint64Array(3);

/** Follows ordinary links, but not those of /proc, which lead to where no path leads. */
function openWithoutMagic(path: NativePath, flags: number): number | undefined {
  how.set([BigInt(flags | O_CLOEXEC), 0n, RESOLVE_NO_MAGICLINKS]);
  const fd = libc().openat2(OPENAT2, AT_FDCWD, toCString(path), how, how.byteLength);
  return fd < 0 ? undefined : fd;
}
