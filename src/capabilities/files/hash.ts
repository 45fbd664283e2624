import { createHash, type Hash } from "node:crypto";
import { close, closeSync, fstatSync } from "node:fs";
import { promisify } from "node:util";
import { CapabilityError } from "../../base/errors.ts";
import { Fifo } from "../../base/fifo.ts";
import { bulkBuffers } from "../bulk-buffers.ts";
import { Turns } from "../turns.ts";
import { invalidInput } from "./file-error.ts";
import type { Location } from "./location.ts";
import { fill, openRegularFile, readSmall, SMALL_FILE_BYTES } from "./read-file.ts";

const closeAsync = promisify(close);

/** Maximum number of names in one request. */
const MAX_NAMES = 1024;
/** Maximum number of large files that are read at a time, for all clients together. */
const LARGE_AT_ONCE = 4;

/** Which bytes of a file count. */
export interface HashedRange {
  readonly offset: number;
  /** Up to the end of the file if absent. */
  readonly length: number | undefined;
}

/** The SHA-256 of a range, and how many bytes of it the file has. */
export interface FileHash {
  readonly bytes: number;
  readonly sha256: string;
}

/** Hashes a regular file. A small one is hashed at once, a large one in pieces, between which others have their turn. */
export async function hashFile(
  location: Location,
  range: HashedRange,
  signal: AbortSignal,
): Promise<FileHash> {
  checkRange(range);
  return hashOpened(openRegularFile(location, { followSymlinks: true }).fd, range, signal);
}

/** Hashes files of one directory; undefined for what is not a regular file or cannot be read. */
export async function hashFiles(
  directory: Location,
  names: readonly string[],
  range: HashedRange,
  signal: AbortSignal,
): Promise<(FileHash | undefined)[]> {
  checkRange(range);
  if (names.length > MAX_NAMES) throw invalidInput(`at most ${MAX_NAMES} names may be given at a time`);
  for (const name of names)
    if (name === "" || name === "." || name === ".." || /[/\0]/.test(name))
      throw invalidInput(`${JSON.stringify(name)} is not the name of an entry`);
  const turns = new Turns();
  const hashes: (FileHash | undefined)[] = [];
  for (const name of names) {
    if (turns.over) await turns.next();
    checkWanted(signal);
    hashes.push(await hashFile(directory.child(name), range, signal).catch(() => undefined));
  }
  return hashes;
}

function checkWanted(signal: AbortSignal): void {
  if (signal.aborted) throw new CapabilityError("OS_ERROR", "the client is gone");
}

function checkRange({ offset, length }: HashedRange): void {
  if (!Number.isSafeInteger(offset + (length ?? 0))) throw invalidInput("the range is beyond any file");
}

/** Closes the descriptor. */
async function hashOpened(fd: number, range: HashedRange, signal: AbortSignal): Promise<FileHash> {
  const hash = createHash("sha256");
  let bytes: number | undefined;
  try {
    const { size } = fstatSync(fd);
    if (range.offset === 0 && range.length === undefined && size <= SMALL_FILE_BYTES) {
      const small = readSmall(fd, size);
      if (small !== undefined) {
        hash.update(small);
        bytes = small.length;
      }
    }
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  if (bytes !== undefined) {
    closeSync(fd);
    return { bytes, sha256: hash.digest("hex") };
  }
  try {
    return await inTurn(async () => ({
      bytes: await hashPieces(fd, hash, range, signal),
      sha256: hash.digest("hex"),
    }));
  } finally {
    await closeAsync(fd);
  }
}

async function hashPieces(
  fd: number,
  hash: Hash,
  { offset, length = Number.MAX_SAFE_INTEGER }: HashedRange,
  signal: AbortSignal,
): Promise<number> {
  const buffer = bulkBuffers.take();
  try {
    for (let hashed = 0; ; ) {
      checkWanted(signal);
      const piece = buffer.subarray(0, Math.min(buffer.length, length - hashed));
      const filled = await fill(fd, piece, offset + hashed);
      hash.update(piece.subarray(0, filled));
      hashed += filled;
      if (filled < piece.length || hashed === length) return hashed;
    }
  } finally {
    bulkBuffers.giveBack(buffer);
  }
}

let free = LARGE_AT_ONCE;
const waiting = new Fifo<() => void>();

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (free > 0) free -= 1;
  else await new Promise<void>((resolve) => waiting.push(resolve));
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    if (next === undefined) free += 1;
    else next();
  }
}
