import { closeSync, constants, fstatSync, type Stats } from "node:fs";
import { CapabilityError } from "../../base/errors.ts";
import { libc } from "../../native/libc.ts";
import { ERRNO, osError } from "../../native/os-error.ts";
import { Turns } from "../turns.ts";
import { invalidInput } from "./file-error.ts";
import { type NativePath, pathComponents, toCString } from "./native-path.ts";
import { refuseEntryIn, type Written } from "./writing.ts";

// No component of the path may be a symbolic link. A rename could outrun a check before use, so each directory is
// opened relative to its parent, refusing links, and the last step is relative to that descriptor.

const O_PATH = 0o10000000;
const O_CLOEXEC = 0o2000000;
const AT_FDCWD = -100;
const AT_REMOVEDIR = 0x200;
/** From this many names on, a path is walked in turns. */
const MANY_NAMES = 100;
const DIRECTORY = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** Opens a file below the root. Fails with ELOOP if it is a link, with ENOTDIR if a parent is. */
export function openNoFollow(path: NativePath, flags: number, mode = 0): number {
  if (pathComponents(path).length === 0) throw invalidInput("path must name an entry");
  return inParent(path, (parent, name) => openAt(parent, name, flags | constants.O_NOFOLLOW, mode));
}

/** Opens the last entry of a path only for inspection. Fails if a parent is a link. */
function openEntry(path: NativePath): number {
  return inParent(path, openEntryAt);
}

export function statNoFollow(path: NativePath): Stats {
  const fd = openEntry(path);
  try {
    const stat = fstatSync(fd);
    if (stat.isSymbolicLink()) throw invalidInput("path contains a symbolic link");
    return stat;
  } finally {
    closeSync(fd);
  }
}

export function createDirectoryNoFollow(
  location: Written,
  path: NativePath,
  recursive: boolean,
): void | Promise<void> {
  const names = pathComponents(path);
  if (names.length === 0 && !recursive) throw new CapabilityError("OS_ERROR", "directory already exists");
  if (recursive) return createDirectories(location, path, { followSymlinks: false });
  inParent(path, (parent, name) => makeDirectory(location, parent, name));
}

/**
 * Creates a directory and its missing parents. An existing path must be a directory, or lead to one if links are
 * followed. Many directories are created in turns.
 */
export function createDirectories(
  location: Written,
  path: NativePath,
  options: { followSymlinks: boolean },
): void | Promise<void> {
  const names = pathComponents(path);
  const going = goDown(location, names, options);
  if (names.length > MANY_NAMES) return inTurns(going);
  for (const _ of going);
}

/** One step per name. */
function* goDown(
  location: Written,
  names: readonly NativePath[],
  { followSymlinks }: { followSymlinks: boolean },
) {
  let directory = openRoot();
  try {
    for (const name of names) {
      makeMissingDirectory(location, directory, name);
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
export function removeNoFollow(location: Written, path: NativePath): void {
  inParent(path, (parent, name) => {
    const fd = openEntryAt(parent, name);
    const isLink = fstatSync(fd).isSymbolicLink();
    closeSync(fd);
    if (isLink) throw invalidInput("path contains a symbolic link");
    refuseEntryIn(location, parent);
    removeAt(parent, name);
  });
}

/** Removes an entry of an open directory, whatever it is; a directory must be empty. */
export function removeAt(directory: number, name: NativePath): void {
  const text = toCString(name);
  if (libc().unlinkat(directory, text, 0) === 0) return;
  const errno = libc().errno();
  if (errno !== ERRNO.EISDIR) throw osError(errno);
  if (libc().unlinkat(directory, text, AT_REMOVEDIR) !== 0) throw osError(libc().errno());
}

/** Opens a subdirectory, unless it is a link. */
export function openDirectoryAt(directory: number, name: NativePath): number {
  return openAt(directory, name, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW, 0);
}

/** Opens a subdirectory for traversal. Undefined for anything else, or if it does not exist. */
export function tryDirectoryAt(directory: number, name: NativePath): number | undefined {
  const fd = libc().openat(directory, toCString(name), DIRECTORY | O_CLOEXEC, 0);
  return fd < 0 ? undefined : fd;
}

/** Opens an entry only for inspection: a link itself, a device without activating it. */
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

/** Opens a subdirectory, or the directory that a link leads to. */
export function openLinkedDirectoryAt(directory: number, name: NativePath): number {
  return openAt(directory, name, O_PATH | constants.O_DIRECTORY, 0);
}

/** Creates an empty file that must not exist yet. */
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
    // The name exists, but leads nowhere or to a file.
    if (error instanceof CapabilityError && (error.errno === "ENOENT" || error.errno === "ENOTDIR"))
      throw osError(ERRNO.EEXIST);
    throw error;
  }
  closeSync(directory);
  return inner;
}

function makeDirectory(location: Written, directory: number, name: NativePath): void {
  refuseEntryIn(location, directory);
  if (libc().mkdirat(directory, toCString(name), 0o777) !== 0) throw osError(libc().errno());
}

function makeMissingDirectory(location: Written, directory: number, name: NativePath): void {
  try {
    makeDirectory(location, directory, name);
  } catch (error) {
    if (!existsAt(directory, name)) throw error;
  }
}

function existsAt(directory: number, name: NativePath): boolean {
  try {
    closeSync(openEntryAt(directory, name));
    return true;
  } catch {
    return false;
  }
}

function openAt(directory: number, name: NativePath, flags: number, mode: number): number {
  const fd = libc().openat(directory, toCString(name), flags | O_CLOEXEC, mode);
  if (fd < 0) throw osError(libc().errno());
  return fd;
}
