import { closeSync, constants, fstatSync, openSync, readSync, statSync } from "node:fs";
import { UsageError } from "../../base/errors.ts";
import { describeErrno } from "../../native/os-error.ts";

const MAX_BYTES = 1024 * 1024;
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

/**
 * The text of a file that is read again while the server runs. Whatever takes its place meanwhile, such as a pipe or a
 * device, keeps nobody waiting and takes no memory. Throws a UsageError; `name` says in it what the file holds.
 */
export function readOwnFile(path: string, name: string): string {
  const fault = (why: string): UsageError => new UsageError(`cannot read ${name} in ${path}: ${why}`);
  try {
    // Checked before opening, because opening some devices has side effects.
    if (!statSync(path).isFile()) throw fault("it is not a regular file");
    const fd = openSync(path, FLAGS);
    try {
      const { size } = fstatSync(fd);
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

/** It may grow or shrink meanwhile. */
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
