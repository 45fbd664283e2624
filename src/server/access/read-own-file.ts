import { closeSync, constants, fstatSync, openSync, readSync, statSync } from "node:fs";
import { UsageError } from "../../base/errors.ts";
import { describeErrno } from "../../native/os-error.ts";

const MAX_BYTES = 1024 * 1024;
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

const WRITABLE_BY_ANYONE = 0o002;

/**
 * The text of a file that decides whom to trust, and may be reread at any time. If something else takes its place, such
 * as a pipe or a device, reading it neither blocks nor takes memory. Throws a UsageError; `name` describes the file in it.
 */
export function readOwnFile(path: string, name: string): string {
  const fault = (why: string): UsageError => new UsageError(`cannot read ${name} in ${path}: ${why}`);
  try {
    // Checked before opening, because opening some devices has side effects.
    if (!statSync(path).isFile()) throw fault("it is not a regular file");
    const fd = openSync(path, FLAGS);
    try {
      const { size, mode } = fstatSync(fd);
      if ((mode & WRITABLE_BY_ANYONE) !== 0) throw fault(`anyone can write to it; run: chmod o-w ${path}`);
      const bytes = size <= MAX_BYTES ? readUpTo(fd, MAX_BYTES + 1) : undefined;
      if (bytes === undefined || bytes.length > MAX_BYTES) throw fault(`it has more than ${MAX_BYTES} bytes`);
      return bytes.toString("utf8");
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    const { code, errno } = error as NodeJS.ErrnoException;
    throw code === undefined || errno === undefined ? error : fault(describeErrno(code, Math.abs(errno)));
  }
}

/** It may grow or shrink in the meantime. */
function readUpTo(fd: number, most: number): Buffer {
  const parts: Buffer[] = [];
  for (let left = most; left > 0; ) {
    const part = Buffer.allocUnsafe(Math.min(left, 64 * 1024));
    const count = readSync(fd, part);
    if (count === 0) break;
    parts.push(part.subarray(0, count));
    left -= count;
  }
  return Buffer.concat(parts);
}
