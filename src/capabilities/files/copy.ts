import { constants, type Stats } from "node:fs";
import {
  chmod,
  copyFile as copyBytes,
  readdir,
  readFile,
  readlink,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { createDirectory } from "./directories.ts";
import { invalidInput } from "./file-error.ts";
import type { NativePath } from "./native-path.ts";
import type { Place } from "./place.ts";
import { WRITE_FLAGS } from "./write-file.ts";

/** Copies a file, a link as a link, or (on request) a directory with its contents, merging it into an existing one. */
export async function copy(
  source: Place,
  destination: Place,
  { recursive }: { recursive: boolean },
): Promise<void> {
  const found = await source.lstat();
  destination.check({ followSymlinks: true });
  if (found.isDirectory()) {
    if (!recursive) throw invalidInput("fs/copy requires recursive: true when sourcePath is a directory");
    await refuseCopyIntoItself(source, destination);
  }
  if (!(await copyEntry(source, destination, found)))
    throw invalidInput("fs/copy only supports regular files, directories, and symlinks");
}

/**
 * False for what cannot be copied, such as a pipe; inside a directory it is skipped. Every entry is looked up again,
 * because links in the destination may lead anywhere.
 */
async function copyEntry(source: Place, destination: Place, found: Stats): Promise<boolean> {
  if (found.isDirectory()) await copyDirectory(source, destination);
  else if (found.isSymbolicLink()) await copyLink(source, destination);
  else if (found.isFile()) await copyFile(source, destination, found);
  else return false;
  return true;
}

async function copyLink(source: Place, destination: Place): Promise<void> {
  const target = await source.onEntry((entry) => readlink(entry, { encoding: "buffer" }));
  await destination.onEntry((entry) => symlink(target, entry));
}

async function copyFile(source: Place, destination: Place, found: Stats): Promise<void> {
  await source.onTarget({ followSymlinks: false }, (from) =>
    destination.onTarget({ followSymlinks: true, create: true }, (to) => copyContents(from, to, found)),
  );
}

async function copyDirectory(source: Place, destination: Place): Promise<void> {
  await createDirectory(destination, { recursive: true, followSymlinks: true });
  const names = await source.onTarget({ followSymlinks: false }, (directory) =>
    readdir(directory, { encoding: "buffer" }),
  );
  for (const name of names) {
    const from = source.child(name);
    await copyEntry(from, destination.child(name), await from.lstat());
  }
}

async function copyContents(source: NativePath, destination: NativePath, found: Stats): Promise<void> {
  const target = await stat(destination).catch(() => undefined);
  const isSpecial = target !== undefined && !target.isFile() && !target.isDirectory();
  // Files in /proc claim to be empty, which the fast path would believe; it would also wait for the reader of a pipe.
  if (isSpecial || found.size === 0) {
    const bytes = await readFile(source);
    await writeFile(destination, bytes, { flag: WRITE_FLAGS, mode: found.mode });
    if (!isSpecial) await chmod(destination, found.mode);
  } else {
    await copyBytes(source, destination, constants.COPYFILE_FICLONE);
  }
}

async function refuseCopyIntoItself(source: Place, destination: Place): Promise<void> {
  const own = await source.stat();
  for (const ancestor of await existingUpwards(destination)) {
    const found = await ancestor.stat();
    if (found.dev === own.dev && found.ino === own.ino)
      throw invalidInput("fs/copy cannot copy a directory to itself or one of its descendants");
  }
}

async function existingUpwards(place: Place): Promise<Place[]> {
  for (let at = place.resolved(); ; at = at.parent) {
    try {
      return await at.realUpwards();
    } catch (error) {
      // Missing, or a broken link: continue with its parent.
      if (at.isTop) throw error;
    }
  }
}
