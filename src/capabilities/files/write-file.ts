import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  ftruncateSync,
  lstatSync,
  openSync,
  realpathSync,
  type Stats,
  unlinkSync,
  write,
} from "node:fs";
import { promisify } from "node:util";
import { check, libc, toCString } from "../../native/libc.ts";
import { ERRNO, osError } from "../../native/os-error.ts";
import { resultOr } from "../../native/result-or.ts";
import { invalidInput } from "./file-error.ts";
import { type NativePath, splitPath } from "./native-path.ts";
import { openNoFollow } from "./no-follow.ts";
import type { Location } from "./location.ts";
import { temporaryName } from "./temporary-name.ts";
import { dropSetId, NEW_FILE_MODE, openToWrite, refuseSetId, SET_ID_BITS, WRITE_FLAGS } from "./writing.ts";

const writeAsync = promisify(write);

const SMALL_FILE_BYTES = 64 * 1024;
const O_CLOEXEC = 0o2000000;
/** A file in a directory, but without a name. */
const O_TMPFILE = 0o20000000 | constants.O_DIRECTORY | constants.O_WRONLY | O_CLOEXEC;
const NEW_FILE_FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | O_CLOEXEC;
const PRIVATE_MODE = 0o600;
const AT_FDCWD = -100;
const AT_SYMLINK_FOLLOW = 0x400;
const AT_EMPTY_PATH = 0x1000;
/** An empty name, or an empty buffer. */
const NO_BYTES = Buffer.alloc(1);

/** A file open for writing whose new contents take effect when committed. */
interface Draft {
  readonly fd: number;
  /** Called before anything is written. */
  begin(length: number): void;
  /** Returns another draft if the system does not allow this one; nothing has changed then. */
  commit(length: number): Draft | undefined;
  /** Leaves nothing behind, unless it was committed. */
  close(): void;
}

interface Writing {
  readonly location: Location;
  /** Permissions of a regular file, regardless of the umask. They are set before the new contents become visible. */
  readonly mode?: number | undefined;
}

/**
 * Creates or replaces a file; a small one is written when this returns. The new contents are written beside the old
 * ones and replace them atomically, so that a full disk or a crash leaves the old file or the new one, never a part. If
 * a new file could not match the old one in everything but its contents (hard links, owner, extended attributes), it is
 * written in place.
 */
export function writeFile(
  location: Location,
  bytes: Uint8Array,
  options: Pick<Writing, "mode"> & { followSymlinks: boolean },
): void | Promise<void> {
  refuseSetId(options.mode, location);
  const writing = { mode: options.mode, location };
  if (!location.followsLinks)
    return location.onEntry((entry) => writeDraft(openDraft(entry, writing), bytes));
  const { path, followSymlinks } = location.check(options);
  return writeDraft(followSymlinks ? openDraft(path, writing) : openInPlaceNoFollow(path, writing), bytes);
}

function writeDraft(draft: Draft, bytes: Uint8Array): void | Promise<void> {
  return bytes.length <= SMALL_FILE_BYTES ? writeAtOnce(draft, bytes) : writeInTurns(draft, bytes);
}

function writeAtOnce(first: Draft, bytes: Uint8Array): void {
  for (let draft: Draft | undefined = first; draft !== undefined; ) {
    const { fd } = draft;
    let next: Draft | undefined;
    try {
      draft.begin(bytes.length);
      for (let written = 0; written < bytes.length; )
        written += check(libc().write(fd, bytes.subarray(written), bytes.length - written));
      next = draft.commit(bytes.length);
    } finally {
      draft.close();
    }
    draft = next;
  }
}

async function writeInTurns(first: Draft, bytes: Uint8Array): Promise<void> {
  for (let draft: Draft | undefined = first; draft !== undefined; ) {
    const { fd } = draft;
    let next: Draft | undefined;
    try {
      draft.begin(bytes.length);
      for (let written = 0; written < bytes.length; )
        written += (await writeAsync(fd, bytes, written, bytes.length - written)).bytesWritten;
      next = draft.commit(bytes.length);
    } finally {
      draft.close();
    }
    draft = next;
  }
}

function openDraft(path: NativePath, options: Writing): Draft {
  const { target, existing } = resolveLinks(path, options.location);
  // A file that the client may not write must not be replaced either, even if its directory would allow it. A client
  // that may set its mode can allow itself to write, and the request may repeat one that has set a mode without write
  // permission.
  if (existing?.isFile() && !(options.mode !== undefined && existing.uid === process.geteuid?.()))
    check(libc().faccessat(AT_FDCWD, toCString(target), constants.W_OK, 0));
  const replacement =
    existing === undefined || isReplaceable(target, existing)
      ? openReplacement(target, existing, options)
      : undefined;
  return replacement ?? openInPlace(target, options);
}

function openInPlace(target: NativePath, options: Writing): Draft {
  const flags = options.location.followsLinks ? WRITE_FLAGS : WRITE_FLAGS | constants.O_NOFOLLOW;
  const open = (path: NativePath): number => openSync(path, flags, creationMode(options));
  return inPlace(openToWrite(options.location, target, open), options);
}

/** Mode for creating a file. The umask may restrict it, so the mode is set again once the file is open. */
function creationMode({ mode }: Writing): number {
  return mode === undefined ? NEW_FILE_MODE : mode & 0o777;
}

/** The file itself. Space is reserved first, so that a full disk leaves the old contents. */
function inPlace({ fd, stat }: { fd: number; stat: Stats }, { mode, location }: Writing): Draft {
  return {
    fd,
    begin: (length) => {
      if (!stat.isFile()) return;
      reserve(fd, stat.size, length);
      if (mode !== undefined) fchmodSync(fd, mode);
    },
    commit: (length) => {
      if (!stat.isFile()) return undefined;
      ftruncateSync(fd, length);
      // The system clears set-user-ID and set-group-ID when a file is written.
      if (mode !== undefined) fchmodSync(fd, mode);
      dropSetId(fd, location);
      return undefined;
    },
    close: () => closeSync(fd),
  };
}

function reserve(fd: number, oldSize: number, newSize: number): void {
  if (newSize === 0 || libc().fallocate(fd, 0, 0, newSize) === 0) return;
  const errno = libc().errno();
  // If the file system cannot reserve space, writing will report the error.
  if (errno === ERRNO.EOPNOTSUPP || errno === ERRNO.ENOSYS) return;
  ftruncateSync(fd, oldSize);
  throw osError(errno);
}

function openInPlaceNoFollow(path: NativePath, options: Writing): Draft {
  const opened = openToWrite(options.location, path, (at) => openNoFollow(at, WRITE_FLAGS, NEW_FILE_MODE));
  if (opened.stat.isFile()) return inPlace(opened, options);
  closeSync(opened.fd);
  throw invalidInput("path is not a regular file");
}

/** The file that a chain of links leads to, even if it does not exist yet. */
function resolveLinks(
  path: NativePath,
  { followsLinks }: Location,
): { target: NativePath; existing: Stats | undefined } {
  const existing = lstatSync(path, { throwIfNoEntry: false });
  if (existing === undefined || !existing.isSymbolicLink()) return { target: path, existing };
  if (!followsLinks) throw invalidInput("path contains a symbolic link");
  try {
    const target = realpathSync.native(path, { encoding: "buffer" });
    return { target, existing: lstatSync(target, { throwIfNoEntry: false }) };
  } catch (error) {
    // A broken link: opening it creates its target, which is left to the system.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return { target: path, existing };
    throw error;
  }
}

function isReplaceable(path: NativePath, stat: Stats): boolean {
  const uid = process.geteuid?.();
  const sameOwner = stat.uid === uid || uid === 0;
  return stat.isFile() && stat.nlink === 1 && sameOwner && !hasExtendedAttributes(path);
}

function hasExtendedAttributes(path: NativePath): boolean {
  const size = libc().listxattr(toCString(path), NO_BYTES, 0);
  // A file system without such attributes returns an error.
  return size > 0;
}

interface NewFile {
  readonly fd: number;
  /** Undefined if it has none yet. */
  readonly name: NativePath | undefined;
  readonly target: NativePath;
  readonly existing: Stats | undefined;
}

/** A new file beside the old one. It has no name if the file system allows that, so that it disappears in a crash. */
function replacement({ fd, name: firstName, target, existing }: NewFile, options: Writing): Draft {
  let name = firstName;
  const commit = (): Draft | undefined => {
    if (!takeIdentity(fd, existing, options)) return openInPlace(target, options);
    if (name === undefined) {
      if (existing === undefined && link(fd, target)) return undefined;
      const beside = temporaryName(splitPath(target).directory);
      if (!link(fd, beside)) return openInPlace(target, options);
      name = beside;
    }
    if (libc().renameat(AT_FDCWD, toCString(name), AT_FDCWD, toCString(target)) === 0) {
      name = undefined;
      return undefined;
    }
    const errno = libc().errno();
    // The file is a mount point, so it cannot be replaced.
    if (errno === ERRNO.EBUSY) return openInPlace(target, options);
    throw osError(errno);
  };
  const close = (): void => {
    libc().close(fd);
    if (name !== undefined) unlinkSync(name);
  };
  return { fd, begin: () => {}, commit, close };
}

/** False if the system does not allow the old file's owner, or the requested mode, on the new file. */
function takeIdentity(fd: number, existing: Stats | undefined, options: Writing): boolean {
  if (existing !== undefined && !copyOwner(fd, existing)) return false;
  const { mode = existing?.mode, location } = options;
  const kept = location.isTrusted ? 0o7777 : 0o7777 & ~SET_ID_BITS;
  return mode === undefined || libc().fchmod(fd, mode & kept) === 0;
}

/** Undefined if the directory does not allow it. */
function openReplacement(
  target: NativePath,
  existing: Stats | undefined,
  options: Writing,
): Draft | undefined {
  const { directory } = splitPath(target);
  const unnamed = libc().openat(AT_FDCWD, toCString(directory), O_TMPFILE, NEW_FILE_MODE);
  if (unnamed >= 0) return replacement({ fd: unnamed, name: undefined, target, existing }, options);
  const name = temporaryName(directory);
  // The new file must not be more readable than its final permissions, which it gets at the end.
  const mode = existing === undefined && options.mode === undefined ? NEW_FILE_MODE : PRIVATE_MODE;
  const fd = libc().openat(AT_FDCWD, toCString(name), NEW_FILE_FLAGS, mode);
  if (fd >= 0) return replacement({ fd, name, target, existing }, options);
  const errno = libc().errno();
  if (errno === ERRNO.EACCES || errno === ERRNO.EPERM || errno === ERRNO.EROFS) return undefined;
  // /proc cannot contain a new file beside the existing one.
  if (errno === ERRNO.ENOENT && existing !== undefined) return undefined;
  throw osError(errno);
}

function link(fd: number, path: NativePath): boolean {
  const to = toCString(path);
  // The direct way needs a capability or a recent kernel; otherwise it fails with ENOENT. The other way looks the file
  // up in /proc.
  const linked =
    libc().linkat(fd, NO_BYTES, AT_FDCWD, to, AT_EMPTY_PATH) === 0 ||
    (libc().errno() === ERRNO.ENOENT &&
      libc().linkat(AT_FDCWD, Buffer.from(`/proc/self/fd/${fd}\0`), AT_FDCWD, to, AT_SYMLINK_FOLLOW) === 0);
  if (linked) return true;
  const errno = libc().errno();
  if (errno === ERRNO.EEXIST || errno === ERRNO.ENOENT) return false;
  throw osError(errno);
}

function copyOwner(fd: number, { uid, gid }: Stats): boolean {
  if (uid === process.geteuid?.() && gid === process.getegid?.()) return true;
  return resultOr(false, () => {
    fchownSync(fd, uid, gid);
    return true;
  });
}
