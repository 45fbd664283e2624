import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { isatty } from "node:tty";
import { formatDuration } from "../../base/duration.ts";

const MAX_BYTES = 1024 * 1024;
/** Deadline for a pipe. Nothing is printed while it waits. */
const PIPE_DEADLINE_MS = 30_000;
const POLL_MS = 5;

/**
 * Reads a file with a token or settings. Other sources, such as `/dev/stdin` or a pipe from the shell, are read to
 * their end, too, but with limits on size and time. Throws the system's error, or one with a message.
 */
export function readSmallFile(path: string, deadlineMs: number = PIPE_DEADLINE_MS): Buffer {
  // Opening a named pipe without a writer would block this program.
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    return readAll(fd, deadlineMs);
  } finally {
    closeSync(fd);
  }
}

function readAll(fd: number, deadlineMs: number): Buffer {
  const mayBeLate = !fstatSync(fd).isFile();
  // On a terminal, the user may take any time to type.
  const deadline = isatty(fd) ? Number.POSITIVE_INFINITY : Date.now() + deadlineMs;
  const bytes = Buffer.alloc(MAX_BYTES + 1);
  let length = 0;
  while (length <= MAX_BYTES) {
    const count = readSome(fd, bytes, length);
    // A named pipe has an end before its first writer comes.
    const isWaiting = count === undefined || (count === 0 && length === 0 && mayBeLate);
    if (count === 0 && !isWaiting) return Buffer.from(bytes.subarray(0, length));
    length += count ?? 0;
    if (!isWaiting) continue;
    if (Date.now() > deadline) throw new Error(`reading it took longer than ${formatDuration(deadlineMs)}`);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, POLL_MS);
  }
  throw new Error("it is larger than 1 MiB");
}

/** Undefined if nothing is there yet. */
function readSome(fd: number, bytes: Buffer, offset: number): number | undefined {
  try {
    return readSync(fd, bytes, offset, bytes.length - offset, null);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EAGAIN") return undefined;
    throw error;
  }
}
