import { close, closeSync, constants, fstatSync, openSync, read, readSync, statSync } from "node:fs";
import { promisify } from "node:util";
import { bulkBuffers } from "../bulk-buffers.ts";
import { ERRNO, osError } from "../../native/os-error.ts";
import { closeOnError } from "./clean-up.ts";
import { invalidInput } from "./file-error.ts";
import { type NativePath, showPath } from "./native-path.ts";
import { openNoFollow } from "./no-follow.ts";
import type { Location } from "./location.ts";
import { NULL_DEVICE } from "./writing.ts";

const readAsync = promisify(read);
const closeAsync = promisify(close);

const MAX_READ_FILE_BYTES = 512 * 1024 * 1024;

/** Files up to this size are read synchronously: handing so little to another thread costs more than reading it. */
export const SMALL_FILE_BYTES = 64 * 1024;
/** Size of one read from larger files. A multiple of 3, so that each piece encodes to base64 without padding. */
const PIECE_BYTES = 1024 * 1024 - 1;
export const OPEN_FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

/** Buffer for small files; the next read overwrites its contents. */
let smallBuffer: Buffer | undefined;

/** Receives a large file piece by piece. */
export interface PieceTaker {
  readonly admit: (bytes: number) => Promise<void> | undefined;
  readonly onPiece: (piece: Buffer) => void;
}

/** A file that is longer than it may be, and was not read. */
interface LongFile {
  readonly size: number;
}

/**
 * Reads a regular file. Returns a small one, which is valid until the next read, and hands out larger ones in pieces,
 * each a multiple of 3 bytes except the last and valid until the next is requested. `admit` gets the total number of
 * bytes, and may delay them. Opening never blocks, as it would on a pipe without a writer.
 */
export function readFile(
  location: Location,
  { followSymlinks, maxBytes }: { followSymlinks: boolean; maxBytes?: number | undefined },
  { admit, onPiece }: PieceTaker,
): Buffer | LongFile | Promise<void> {
  const { fd, size } = openRegularFile(location, { followSymlinks });
  if (maxBytes !== undefined && size > maxBytes) {
    closeSync(fd);
    return { size };
  }
  const small = closeOnError(fd, () => {
    if (size > MAX_READ_FILE_BYTES) throw tooLarge();
    return size <= SMALL_FILE_BYTES ? readSmall(fd, size) : undefined;
  });
  if (small === undefined) return readPieces(fd, size, { admit, onPiece });
  closeSync(fd);
  return small;
}

/** Opens a file for reading, and refuses anything that is not a regular file. */
export function openRegularFile(
  location: Location,
  options: { followSymlinks: boolean },
): { fd: number; size: number } {
  const { path, followSymlinks } = location.check(options);
  if (!followSymlinks)
    return checkOpened(location, openNoFollow(path, OPEN_FLAGS), () =>
      invalidInput("path is not a regular file"),
    );
  // Checked before opening, because opening some devices has side effects.
  const stat = statSync(path);
  if (stat.isSocket()) throw osError(ERRNO.ENXIO);
  if (!stat.isFile()) {
    // A file that a sandbox hides looks like the null device, and may not be opened; the device itself has no side
    // effects.
    if (stat.rdev === NULL_DEVICE) closeSync(openSync(path, OPEN_FLAGS));
    throw notAFile(path);
  }
  return checkOpened(location, openSync(path, OPEN_FLAGS), () => notAFile(path));
}

function checkOpened(location: Location, fd: number, refusal: () => Error): { fd: number; size: number } {
  return closeOnError(fd, () => {
    location.checkOpened(fd);
    const stat = fstatSync(fd);
    if (!stat.isFile()) throw refusal();
    return { fd, size: stat.size };
  });
}

export function notAFile(path: NativePath): Error {
  return invalidInput(`path \`${showPath(path)}\` is not a file`);
}

function tooLarge(): Error {
  return invalidInput(`file is too large to read: limit is ${MAX_READ_FILE_BYTES} bytes`);
}

/** Undefined if there is more than fits: files in /proc claim to be empty. Valid until the next read. */
export function readSmall(fd: number, size: number): Buffer | undefined {
  smallBuffer ??= Buffer.allocUnsafeSlow(SMALL_FILE_BYTES + 1);
  let length = 0;
  for (;;) {
    const count = readSync(fd, smallBuffer, length, smallBuffer.length - length, length);
    length += count;
    if (length > SMALL_FILE_BYTES) return undefined;
    // The read asked for more than the file's size and got exactly the size: this is the end.
    if (count === 0 || (count === size && count === length)) return smallBuffer.subarray(0, length);
  }
}

/** Closes the descriptor. */
async function readPieces(fd: number, size: number, { admit, onPiece }: PieceTaker): Promise<void> {
  const whole = bulkBuffers.take();
  try {
    await admit(size);
    const buffer = whole.subarray(0, PIECE_BYTES);
    for (let position = 0; ; ) {
      const length = await fill(fd, buffer, position);
      position += length;
      if (position > MAX_READ_FILE_BYTES) throw tooLarge();
      // The file has grown, or did not report its size.
      if (position > size) await admit(position);
      onPiece(buffer.subarray(0, length));
      if (length < buffer.length) return;
    }
  } finally {
    bulkBuffers.giveBack(whole);
    await closeAsync(fd);
  }
}

/** Reads until the buffer is full or the file ends; returns the number of bytes. */
export async function fill(fd: number, buffer: Buffer, position: number): Promise<number> {
  let length = 0;
  while (length < buffer.length) {
    const { bytesRead } = await readAsync(fd, buffer, length, buffer.length - length, position + length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return length;
}
