import { closeSync, constants, fstatSync, type Stats } from "node:fs";
import { CapabilityError } from "../../base/errors.ts";
import { libc } from "../../native/libc.ts";
import { ERRNO, osError } from "../../native/os-error.ts";
import { Turns } from "../turns.ts";
import { invalidInput } from "./file-error.ts";
import { type NativePath, pathComponents, toCString } from "./native-path.ts";

// No component of the path may be a symbolic link. A check before use could be outrun by a rename, so each directory is opened from the
// one before it, refusing links, and the last step is done relative to that descriptor.

const O_PATH = 0o10000000;
const O_CLOEXEC = 0o2000000;
const AT_FDCWD = -100;
const AT_REMOVEDIR = 0x200;
/** From so many names on a path is gone down in turns. */
const MANY_NAMES = 100;
const DIRECTORY = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** Opens a file below the root. A link in its place is ELOOP, one on the way ENOTDIR. */
export function openNoFollow(path: NativePath, flags: number, mode = 0): number {
  if (pathComponents(path).length === 0) throw invalidInput("path must name an entry");
  return inParent(path, (parent, name) => openAt(parent, name, flags | constants.O_NOFOLLOW, mode));
}

export function statNoFollow(path: NativePath): Stats {
  const fd = inParent(path, (parent, name) => openAt(parent, name, O_PATH | constants.O_NOFOLLOW, 0));
  try {
    const stat = fstatSync(fd);
    if (stat.isSymbolicLink()) throw invalidInput("path contains a symbolic link");
    return stat;
  } finally {
    closeSync(fd);
  }
}

export function createDirectoryNoFollow(path: NativePath, recursive: boolean): void | Promise<void> {
  const names = pathComponents(path);
  if (names.length === 0 && !recursive) throw new CapabilityError("OS_ERROR", "directory already exists");
  if (recursive) return createDirectories(path, { followSymlinks: false });
  inParent(path, (parent, name) => makeDirectory(parent, name, false));
}

/**
 * Creates a directory and those on the way to it that are missing. What exists must be a directory, or lead to one where links are followed. Many of them are
 * created in turns.
 */
export function createDirectories(
  path: NativePath,
  options: { followSymlinks: boolean },
): void | Promise<void> {
  const names = pathComponents(path);
  const going = goDown(names, options);
  if (names.length > MANY_NAMES) return inTurns(going);
  for (const _ of going);
}

/** A step for each name. */
function* goDown(names: readonly NativePath[], { followSymlinks }: { followSymlinks: boolean }) {
  let directory = openRoot();
  try {
    for (const name of names) {
      makeDirectory(directory, name, true);
      directory = followSymlinks ? enterFollowing(directory, name) : enter(directory, name);
      yield;
    }
  } finally {
    closeSync(directory);
  }
}

async function inTurns(steps: Iterable<void>): Promise<void> {
  const turns = new Turns();
  for (const _ of steps) if (turns.over) await turns.next();
}

/** Removes a file, a link or an empty directory. */
export function removeNoFollow(path: NativePath): void {
  inParent(path, (parent, name) => {
    const fd = openAt(parent, name, O_PATH | constants.O_NOFOLLOW, 0);
    const isLink = fstatSync(fd).isSymbolicLink();
    closeSync(fd);
    if (isLink) throw invalidInput("path contains a symbolic link");
    removeAt(parent, name);
  });
}

/** Removes a name of an open directory, whatever it is; a directory must be empty. */
export function removeAt(directory: number, name: NativePath): void {
  const text = toCString(name);
  if (libc().unlinkat(directory, text, 0) === 0) return;
  const errno = libc().errno();
  if (errno !== ERRNO.EISDIR) throw osError(errno);
  if (libc().unlinkat(directory, text, AT_REMOVEDIR) !== 0) throw osError(libc().errno());
}

/** Opens a directory below another, unless it is a link. */
export function openDirectoryAt(directory: number, name: NativePath): number {
  return openAt(directory, name, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW, 0);
}

/** Opens a directory below another for going through it. Undefined for whatever else is there, or not there. */
export function tryDirectoryAt(directory: number, name: NativePath): number | undefined {
  const fd = libc().openat(directory, toCString(name), DIRECTORY | O_CLOEXEC, 0);
  return fd < 0 ? undefined : fd;
}

/** Opens a name of a directory for nothing but looking at it: a link itself, a device without waking it. */
export function openEntryAt(directory: number, name: NativePath): number {
  return openAt(directory, name, O_PATH | constants.O_NOFOLLOW, 0);
}

/** Opens the directory that these names lead to from the root, unless one of them is a link. */
export function openDirectories(names: readonly NativePath[]): number {
  let directory = openRoot();
  try {
    for (const name of names) directory = enter(directory, name);
    return directory;
  } catch (error) {
    closeSync(directory);
    throw error;
  }
}

/** Opens a directory below another, or one that a link leads to. */
export function openLinkedDirectoryAt(directory: number, name: NativePath): number {
  return openAt(directory, name, O_PATH | constants.O_DIRECTORY, 0);
}

/** Makes an empty file where there is nothing. */
export function createFileAt(directory: number, name: NativePath): number {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  return openAt(directory, name, flags, 0o666);
}

function inParent<T>(path: NativePath, work: (parent: number, name: NativePath) => T): T {
  const names = pathComponents(path);
  const last = names.pop() ?? ".";
  let directory = openRoot();
  try {
    for (const name of names) directory = enter(directory, name);
    return work(directory, last);
  } finally {
    closeSync(directory);
  }
}

function openRoot(): number {
  return openAt(AT_FDCWD, "/", DIRECTORY, 0);
}

function enter(directory: number, name: NativePath): number {
  const inner = openAt(directory, name, DIRECTORY, 0);
  closeSync(directory);
  return inner;
}

function enterFollowing(directory: number, name: NativePath): number {
  let inner: number;
  try {
    inner = openLinkedDirectoryAt(directory, name);
  } catch (error) {
    // The name is there, but leads nowhere or to a file.
    if (error instanceof CapabilityError && (error.errno === "ENOENT" || error.errno === "ENOTDIR"))
      throw osError(ERRNO.EEXIST);
    throw error;
  }
  closeSync(directory);
  return inner;
}

function makeDirectory(directory: number, name: NativePath, mayExist: boolean): void {
  if (libc().mkdirat(directory, toCString(name), 0o777) === 0) return;
  const errno = libc().errno();
  if (!mayExist || errno !== ERRNO.EEXIST) throw osError(errno);
}

function openAt(directory: number, name: NativePath, flags: number, mode: number): number {
  const fd = libc().openat(directory, toCString(name), flags | O_CLOEXEC, mode);
  if (fd < 0) throw osError(libc().errno());
  return fd;
}
