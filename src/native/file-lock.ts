import { closeSync, constants, openSync } from "node:fs";
import { libc } from "./libc.ts";
import { ERRNO, osError } from "./os-error.ts";

const LOCK_SH = 1;
const LOCK_EX = 2;
const LOCK_NB = 4;

/**
 * Takes a lock that only one program can hold, on a file that is created if necessary. Returns a function that releases
 * it; undefined if another program holds it. The system releases the locks of a program that ends.
 */
export function tryToLock(path: string): (() => void) | undefined {
  const fd = openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
  let isLocked = false;
  try {
    isLocked = tryToLockOpen(fd);
  } finally {
    if (!isLocked) closeSync(fd);
  }
  return isLocked ? () => closeSync(fd) : undefined;
}

/**
 * The same for an open file, until it is closed. False if another program holds the lock. A file that was shared before
 * is not even shared then.
 */
export function tryToLockOpen(fd: number): boolean {
  return lock(fd, LOCK_EX);
}

/** Takes a lock that others can share, until the file is closed. False if one program holds it exclusively. */
export function tryToShareOpen(fd: number): boolean {
  return lock(fd, LOCK_SH);
}

function lock(fd: number, operation: number): boolean {
  if (libc().flock(fd, operation | LOCK_NB) === 0) return true;
  const errno = libc().errno();
  if (errno === ERRNO.EAGAIN) return false;
  throw osError(errno);
}
