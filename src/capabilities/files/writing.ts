import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  type Stats,
  statfsSync,
  statSync,
} from "node:fs";
import { CapabilityError } from "../../base/errors.ts";
import { resultOr } from "../../native/result-or.ts";
import { closeOnError } from "./clean-up.ts";
import { fileSystemOf, isOfKernel, PROC } from "./file-systems.ts";
import { type NativePath, pathComponents, splitPath } from "./native-path.ts";

// The single entry point for everything that writes a file, changes its mode, or creates, renames or removes an entry.
// A client confined to roots or a sandbox may write only data: no devices or kernel files, which can do more than any
// file, and no programs that would run as the server's user for everyone on the machine.

export const NEW_FILE_MODE = 0o666;
/** Opening never blocks, as it would on a pipe without a reader. */
export const WRITE_FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_NONBLOCK | constants.O_NOCTTY;
/** Set-user-ID and set-group-ID. */
export const SET_ID_BITS = 0o6000;
/** Device 1:3, as the system packs the two numbers. */
export const NULL_DEVICE = 0x103;

const O_PATH = 0o10000000;

/** The members of `Location` that writing needs. */
export interface Written {
  readonly isTrusted: boolean;
  readonly shown: string;
  checkOpened(fd: number): void;
}

/** Throws for permissions that a client must not set. */
export function refuseSetId(mode: number | undefined, { isTrusted }: Written): void {
  if (isTrusted || mode === undefined || (mode & SET_ID_BITS) === 0) return;
  throw new CapabilityError(
    "PERMISSION_DENIED",
    `mode ${mode.toString(8)} sets the user or group ID of programs, which needs full rights without roots or a sandbox: leave out 6000`,
  );
}

/**
 * Opens a file for writing, and creates it if it is missing. It is not truncated: whether it may be written depends on
 * what was opened.
 */
export function openToWrite(
  location: Written,
  path: NativePath,
  open: (path: NativePath) => number,
): { fd: number; stat: Stats } {
  // Checked before opening as well, because opening some devices has side effects.
  const before = location.isTrusted ? undefined : statSync(path, { throwIfNoEntry: false });
  if (before !== undefined) refuseDevice(before, location);
  const fd = open(path);
  return closeOnError(fd, () => {
    const stat = fstatSync(fd);
    location.checkOpened(fd);
    refuseToWrite(fd, stat, location);
    dropSetId(fd, location);
    return { fd, stat };
  });
}

/**
 * Takes the ID from a program that is written, as the system does unless root writes. It belongs before a write, and
 * after one during which others could run: they may have set it meanwhile.
 */
export function dropSetId(fd: number, { isTrusted }: Pick<Written, "isTrusted">): void {
  if (isTrusted) return;
  const stat = fstatSync(fd);
  if (stat.isFile() && (stat.mode & SET_ID_BITS) !== 0) fchmodSync(fd, stat.mode & 0o7777 & ~SET_ID_BITS);
}

/** Throws for something that may not be changed in any other way either. */
export function refuseToChange(location: Written, path: NativePath): void {
  if (location.isTrusted) return;
  const fd = openSync(path, O_PATH);
  try {
    refuseToWrite(fd, fstatSync(fd), location);
  } finally {
    closeSync(fd);
  }
}

/** Throws for an entry, existing or not, that may not be created, renamed or removed. */
export function refuseEntry(location: Written, entry: NativePath): void {
  if (location.isTrusted) return;
  // If it fails, the operation will say why.
  const type = resultOr(undefined, () => statfsSync(splitPath(entry).directory).type);
  if (type !== undefined && isOfKernel(type)) throw noData(location);
}

/** The same for every entry of an open directory: there, a directory can be a control group. */
export function refuseEntryIn(location: Written, directory: number): void {
  if (!location.isTrusted && isOfKernel(fileSystemOf(directory))) throw noData(location);
}

function refuseToWrite(fd: number, stat: Stats, location: Written): void {
  if (!location.isTrusted) refuseDevice(stat, location);
  const type = fileSystemOf(fd);
  if (!location.isTrusted && isOfKernel(type)) throw noData(location);
  // A client that is served as another user has that user's rights, but not those over its server.
  if (type === PROC && isOfThisProcess(fd))
    throw new CapabilityError(
      "PERMISSION_DENIED",
      `path \`${location.shown}\` belongs to the server's own process and cannot be written`,
    );
}

function refuseDevice(stat: Stats, location: Written): void {
  if (stat.isBlockDevice() || (stat.isCharacterDevice() && stat.rdev !== NULL_DEVICE)) throw noData(location);
}

function noData({ shown }: Written): CapabilityError {
  return new CapabilityError(
    "PERMISSION_DENIED",
    `path \`${shown}\` is a device or a kernel file, which cannot be written with roots or a sandbox`,
  );
}

/** Each thread has its own directory, too. */
function isOfThisProcess(fd: number): boolean {
  const threads = new Set(readdirSync("/proc/self/task"));
  return pathComponents(readlinkSync(`/proc/self/fd/${fd}`)).some((name) => threads.has(String(name)));
}
