import { constants } from "node:os";
import { CapabilityError, type ErrorCode } from "../base/errors.ts";

export const ERRNO = constants.errno;

// Some numbers have two names; the first is the usual one.
const NAMES = new Map(
  Object.entries(ERRNO)
    .reverse()
    .map(([name, errno]) => [errno, name]),
);

// Peers show this wording to people, so it must not depend on the machine's C library.
const TEXTS: Readonly<Record<string, string>> = {
  E2BIG: "Argument list too long",
  EACCES: "Permission denied",
  EADDRINUSE: "Address in use",
  EADDRNOTAVAIL: "Address not available",
  EAGAIN: "Resource temporarily unavailable",
  EBADF: "Bad file descriptor",
  EBUSY: "Resource busy",
  EEXIST: "File exists",
  EFBIG: "File too large",
  EINVAL: "Invalid argument",
  EIO: "I/O error",
  EISDIR: "Is a directory",
  ELOOP: "Symbolic link loop",
  EMFILE: "No file descriptors available",
  EMLINK: "Too many links",
  ENAMETOOLONG: "Filename too long",
  ENFILE: "Too many open files in system",
  ENODEV: "No such device",
  ENOENT: "No such file or directory",
  ENOEXEC: "Exec format error",
  ENOMEM: "Out of memory",
  ENOSPC: "No space left on device",
  ENOTDIR: "Not a directory",
  ENOTEMPTY: "Directory not empty",
  ENOTSUP: "Not supported",
  ENXIO: "No such device or address",
  EPERM: "Operation not permitted",
  EPIPE: "Broken pipe",
  EROFS: "Read-only file system",
  ESRCH: "No such process",
  ETXTBSY: "Text file busy",
  EXDEV: "Cross-device link",
};

/** Turns a system error number into an error with the wire's wording: `Permission denied (os error 13)`. */
export function osError(errno: number): CapabilityError {
  const name = NAMES.get(errno) ?? `errno ${errno}`;
  return new CapabilityError(codeOf(name), describeErrno(name, errno), { errno: name });
}

/** True for an error of Node's file functions with one of these names, such as `ENOENT`. */
export function isErrno(error: unknown, ...names: readonly string[]): boolean {
  return error instanceof Error && names.includes((error as NodeJS.ErrnoException).code ?? "");
}

export function describeErrno(name: string, errno: number): string {
  return `${TEXTS[name] ?? name} (os error ${errno})`;
}

function codeOf(name: string): ErrorCode {
  if (name === "ENOENT") return "NOT_FOUND";
  if (name === "EINVAL") return "INVALID_INPUT";
  return name === "EACCES" || name === "EPERM" ? "PERMISSION_DENIED" : "OS_ERROR";
}
