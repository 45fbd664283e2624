import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { messageOf, UsageError } from "../base/errors.ts";

/** Far more than a key, credentials or the authorities of a system. */
const MAX_BYTES = 1024 * 1024;
/** A pipe without a writer would stop the program. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

/** What a file holds that NATS is entered with. Throws a UsageError; `name` says in it what the file holds. */
export function readLoginFile(name: string, path: string): Buffer {
  try {
    return readFile(path);
  } catch (error) {
    const [why] = messageOf(error).split(", open '");
    throw new UsageError(`cannot read the ${name} of the fleet in ${path}: ${why}`);
  }
}

function readFile(path: string): Buffer {
  const fd = openSync(path, FLAGS);
  try {
    if (!fstatSync(fd).isFile()) throw new Error("it is not a regular file");
    const bytes = Buffer.alloc(Math.min(fstatSync(fd).size, MAX_BYTES) + 1);
    const length = readSync(fd, bytes, 0, bytes.length, 0);
    if (length > MAX_BYTES) throw new Error(`it has more than ${MAX_BYTES} bytes`);
    return bytes.subarray(0, length);
  } finally {
    closeSync(fd);
  }
}
