import { createHash, type Hash } from "node:crypto";
import { close, closeSync } from "node:fs";
import { promisify } from "node:util";
import { bulkBuffers } from "../bulk-buffers.ts";
import { Turns } from "../turns.ts";
import { WorkLimit } from "../work-limit.ts";
import { closeOnError } from "./clean-up.ts";
import { invalidInput, throwIfGone } from "./file-error.ts";
import type { Location } from "./location.ts";
import { fill, openRegularFile, readSmall, SMALL_FILE_BYTES } from "./read-file.ts";

const closeAsync = promisify(close);

/** Maximum number of names in one request. */
const MAX_NAMES = 1024;
/** Large files that are read at a time, for all clients together. */
const largeFiles = new WorkLimit(4);

/** Range of bytes to hash. */
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
  const { fd, size } = openRegularFile(location, { followSymlinks: true });
  const hash = createHash("sha256");
  const isWhole = range.offset === 0 && range.length === undefined;
  const small = closeOnError(fd, () =>
    isWhole && size <= SMALL_FILE_BYTES ? readSmall(fd, size) : undefined,
  );
  if (small !== undefined) {
    closeSync(fd);
    return { bytes: small.length, sha256: hash.update(small).digest("hex") };
  }
  try {
    return await largeFiles.run(async () => ({
      bytes: await hashPieces(fd, hash, range, signal),
      sha256: hash.digest("hex"),
    }));
  } finally {
    await closeAsync(fd);
  }
}

/** Hashes files of one directory; undefined for anything that is not a readable regular file. */
export async function hashFiles(
  directory: Location,
  names: readonly string[],
  range: HashedRange,
  signal: AbortSignal,
): Promise<(FileHash | undefined)[]> {
  checkRange(range);
  if (names.length > MAX_NAMES) throw invalidInput(`at most ${MAX_NAMES} names are allowed per request`);
  for (const name of names)
    if (name === "" || name === "." || name === ".." || /[/\0]/.test(name))
      throw invalidInput(`${JSON.stringify(name)} is not the name of an entry`);
  const turns = new Turns();
  const hashes: (FileHash | undefined)[] = [];
  for (const name of names) {
    if (turns.over) await turns.next();
    throwIfGone(signal);
    hashes.push(await hashFile(directory.child(name), range, signal).catch(() => undefined));
  }
  return hashes;
}

function checkRange({ offset, length }: HashedRange): void {
  if (!Number.isSafeInteger(offset + (length ?? 0))) throw invalidInput("the range is beyond any file");
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
      throwIfGone(signal);
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
