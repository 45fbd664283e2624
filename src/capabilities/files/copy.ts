import { close, fchmodSync, fstatSync, ftruncateSync, openSync, type Stats, write } from "node:fs";
import { readdir, readlink, symlink } from "node:fs/promises";
import { promisify } from "node:util";
import { libc } from "../../native/libc.ts";
import { bulkBuffers } from "../bulk-buffers.ts";
import { createDirectory } from "./directories.ts";
import { invalidInput, throwIfGone } from "./file-error.ts";
import type { NativePath } from "./native-path.ts";
import type { Location } from "./location.ts";
import { fill, notAFile, OPEN_FLAGS } from "./read-file.ts";
import { dropSetId, NEW_FILE_MODE, openToWrite, refuseEntry, SET_ID_BITS, WRITE_FLAGS } from "./writing.ts";

const writeAsync = promisify(write);
const closeAsync = promisify(close);

const FICLONE = 0x4004_9409;

export interface CopyOptions {
  readonly recursive: boolean;
  /** Ends the copy of a tree, or of a large file, which stay incomplete. */
  readonly signal: AbortSignal;
}

/** Copies a file, a link as a link, or (on request) a directory with its contents, merging it into an existing one. */
export async function copy(
  source: Location,
  destination: Location,
  { recursive, signal }: CopyOptions,
): Promise<void> {
  const stat = await source.lstat();
  destination.check({ followSymlinks: true });
  if (stat.isDirectory()) {
    if (!recursive) throw invalidInput("fs/copy requires recursive: true when sourcePath is a directory");
    await refuseCopyIntoItself(source, destination);
  }
  if (!(await copyEntry(source, destination, { stat, signal })))
    throw invalidInput("fs/copy only supports regular files, directories, and symlinks");
}

/**
 * False for what cannot be copied, such as a pipe; inside a directory it is skipped. Every entry is looked up again,
 * because links in the destination may lead anywhere.
 */
async function copyEntry(
  source: Location,
  destination: Location,
  { stat, signal }: { stat: Stats; signal: AbortSignal },
): Promise<boolean> {
  if (stat.isDirectory()) await copyDirectory(source, destination, signal);
  else if (stat.isSymbolicLink()) await copyLink(source, destination);
  else if (stat.isFile()) await copyFile(source, destination, signal);
  else return false;
  return true;
}

async function copyLink(source: Location, destination: Location): Promise<void> {
  const target = await source.onEntry((entry) => readlink(entry, { encoding: "buffer" }));
  await destination.onEntry((entry) => {
    refuseEntry(destination, entry);
    return symlink(target, entry);
  });
}

async function copyFile(source: Location, destination: Location, signal: AbortSignal): Promise<void> {
  await source.onTarget({ followSymlinks: false }, async (from) => {
    const fd = openSync(from, OPEN_FLAGS);
    try {
      await destination.onTarget({ followSymlinks: true, create: true }, (to) =>
        copyInto(destination, to, { from: fd, shown: from, signal }),
      );
    } finally {
      await closeAsync(fd);
    }
  });
}

async function copyDirectory(source: Location, destination: Location, signal: AbortSignal): Promise<void> {
  await createDirectory(destination, { recursive: true, followSymlinks: true });
  const names = await source.onTarget({ followSymlinks: false }, (directory) =>
    readdir(directory, { encoding: "buffer" }),
  );
  for (const name of names) {
    throwIfGone(signal);
    const from = source.child(name);
    await copyEntry(from, destination.child(name), { stat: await from.lstat(), signal });
  }
}

/**
 * The copy has the permissions of the original, as they are when it is opened. It keeps set-user-ID and set-group-ID only
 * if it belongs to the same user and group: otherwise anybody's program, copied by root, would run as root.
 */
async function copyInto(
  destination: Location,
  to: NativePath,
  { from, shown, signal }: { from: number; shown: NativePath; signal: AbortSignal },
): Promise<void> {
  const original = fstatSync(from);
  if (!original.isFile()) throw notAFile(shown);
  const { fd, stat } = openToWrite(destination, to, (path) => openSync(path, WRITE_FLAGS, NEW_FILE_MODE));
  try {
    if (stat.dev === original.dev && stat.ino === original.ino) return;
    if (stat.isFile()) {
      fchmodSync(fd, original.mode & 0o7777 & ~SET_ID_BITS);
      ftruncateSync(fd);
    }
    if (!stat.isFile() || libc().cloneFile(fd, FICLONE, from) !== 0) await pour(from, fd, signal);
    const keepsSetId = destination.isTrusted && stat.uid === original.uid && stat.gid === original.gid;
    // Last: the system takes them from a file that is written.
    if (stat.isFile() && keepsSetId && (original.mode & SET_ID_BITS) !== 0)
      fchmodSync(fd, original.mode & 0o7777);
    dropSetId(fd, destination);
  } finally {
    await closeAsync(fd);
  }
}

/** Copies until the end of the file, regardless of its size: files in /proc claim to be empty. */
async function pour(from: number, to: number, signal: AbortSignal): Promise<void> {
  const buffer = bulkBuffers.take();
  try {
    for (let position = 0; ; ) {
      const filled = await fill(from, buffer, position);
      for (let written = 0; written < filled; )
        written += (await writeAsync(to, buffer, written, filled - written)).bytesWritten;
      position += filled;
      if (filled < buffer.length) return;
      throwIfGone(signal);
    }
  } finally {
    bulkBuffers.giveBack(buffer);
  }
}

async function refuseCopyIntoItself(source: Location, destination: Location): Promise<void> {
  const own = await source.stat();
  for (const ancestor of await existingUpwards(destination)) {
    const { dev, ino } = await ancestor.stat();
    if (dev === own.dev && ino === own.ino)
      throw invalidInput("fs/copy cannot copy a directory to itself or one of its descendants");
  }
}

async function existingUpwards(location: Location): Promise<Location[]> {
  for (let at = location.resolved(); ; at = at.parent) {
    try {
      return await at.realUpwards();
    } catch (error) {
      // Missing, or a broken link: continue with its parent.
      if (at.isTop) throw error;
    }
  }
}
