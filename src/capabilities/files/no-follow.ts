import { closeSync, constants, fstatSync, type Stats } from "node:fs";
import { CapabilityError } from "../../base/errors.ts";
import { check, libc, toCString } from "../../native/libc.ts";
import { ERRNO, osError } from "../../native/os-error.ts";
import { resultOr } from "../../native/result-or.ts";
import { Turns } from "../turns.ts";
import { withCleanUp } from "./clean-up.ts";
import { invalidInput } from "./file-error.ts";
import { type NativePath, pathComponents } from "./native-path.ts";
import { refuseEntryIn, type Written } from "./writing.ts";

// No component of the path may be a symbolic link. A rename could slip in between check and use, so each directory is
// opened relative to its parent, refusing links, and the last step is relative to that descriptor.

const O_PATH = 0o10000000;
const O_CLOEXEC = 0o2000000;
const AT_FDCWD = -100;
const AT_REMOVEDIR = 0x200;
/** Longer paths are walked in turns. */
const MANY_NAMES = 100;
const DIRECTORY = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** Opens a file below the root. Fails with ELOOP if it is a link, with ENOTDIR if a parent is. */
export function openNoFollow(path: NativePath, flags: number, mode = 0): number {
  if (pathComponents(path).length === 0) throw invalidInput("path must name an entry");
  return inParent(path, (parent, name) => openAt(parent, name, flags | constants.O_NOFOLLOW, mode));
}

/** Fails if the path or a parent is a link. */
export function statNoFollow(path: NativePath): Stats {
  const fd = inParent(path, openEntryAt);
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
  { followSymlinks }: { followSymlinks: boolean },
): void | Promise<void> {
  const names = pathComponents(path);
  const going = goDown(location, names, followSymlinks);
  if (names.length > MANY_NAMES) return inTurns(going);
  for (const _ of going);
}

/** One step per name. */
function* goDown(location: Written, names: readonly NativePath[], followSymlinks: boolean) {
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
  check(libc().unlinkat(directory, text, AT_REMOVEDIR));
}

/** Opens a subdirectory, unless it is a link. */
export function openDirectoryAt(directory: number, name: NativePath): number {
  return openAt(directory, name, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW, 0);
}

/** Opens a subdirectory for traversal. Undefined if it does not exist or is not a directory. */
export function tryDirectoryAt(directory: number, name: NativePath): number | undefined {
  const fd = libc().openat(directory, toCString(name), DIRECTORY | O_CLOEXEC, 0);
  return fd < 0 ? undefined : fd;
}

/** Opens an entry only for inspection: a link itself, a device without activating it. */
export function openEntryAt(directory: number, name: NativePath): number {
  return openAt(directory, name, O_PATH | constants.O_NOFOLLOW, 0);
}

/** The same; undefined if it does not exist. */
export function openExistingAt(directory: number, name: NativePath): number | undefined {
  try {
    return openEntryAt(directory, name);
  } catch (error) {
    if (error instanceof CapabilityError && error.errno === "ENOENT") return undefined;
    throw error;
  }
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

/** Works with the last name of a path in its open directory. Fails if a link leads to that. */
export function inParent<T>(path: NativePath, work: (parent: number, name: NativePath) => T): T {
  const names = pathComponents(path);
  const name = names.pop() ?? ".";
  const parent = openDirectories(names);
  return withCleanUp(
    () => work(parent, name),
    () => closeSync(parent),
  );
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
  check(libc().mkdirat(directory, toCString(name), 0o777));
}

function makeMissingDirectory(location: Written, directory: number, name: NativePath): void {
  try {
    makeDirectory(location, directory, name);
  } catch (error) {
    const existing = resultOr(undefined, () => openEntryAt(directory, name));
    if (existing === undefined) throw error;
    closeSync(existing);
  }
}

function openAt(directory: number, name: NativePath, flags: number, mode: number): number {
  return check(libc().openat(directory, toCString(name), flags | O_CLOEXEC, mode));
}
