import { constants } from "node:fs";
import { type FileHandle, open, readdir, rm, rmdir, unlink } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { withinDirectory } from "./in-place.ts";

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

/**
 * Removes an entry, which may be missing, in a directory whose path has no links. On Linux nothing is removed through a
 * link, whatever another program does to the directories in the meantime.
 */
export async function removeInPlace(
  path: string,
  what: "file" | "with contents" | "if empty",
): Promise<void> {
  const name = Buffer.from(basename(path));
  await withinDirectory(dirname(path), async (within) => {
    const entry = entryOf(within, name);
    if (what === "file") await unlessMissing(unlink(entry));
    else if (what === "if empty") await unlessMissing(rmdir(entry));
    else if (process.platform === "linux") await removeTree(entry);
    else await rm(path, { recursive: true, force: true });
  });
}

async function removeTree(path: Buffer): Promise<void> {
  let directory: FileHandle;
  try {
    directory = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (!["ENOTDIR", "ELOOP", "ENOENT"].includes(code)) throw error;
    return unlessMissing(unlink(path));
  }
  try {
    const within = `/proc/self/fd/${directory.fd}`;
    for (const name of await readdir(within, { encoding: "buffer" })) await removeTree(entryOf(within, name));
  } finally {
    await directory.close();
  }
  await unlessMissing(rmdir(path));
}

async function unlessMissing(removed: Promise<void>): Promise<void> {
  try {
    await removed;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

function entryOf(directory: string, name: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${directory}/`), name]);
}
