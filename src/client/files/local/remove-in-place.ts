import { constants } from "node:fs";
import { type FileHandle, open, readdir, rm, rmdir, unlink } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { withinDirectory } from "./in-place.ts";

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

/**
 * Removes something in a directory whose path has no links; nothing may be there. On Linux nothing is removed through a
 * link, whatever another program does to the directories meanwhile.
 */
export async function removeInPlace(
  path: string,
  what: "file" | "with contents" | "if empty",
): Promise<void> {
  const name = Buffer.from(basename(path));
  await withinDirectory(dirname(path), async (within) => {
    const entry = entryOf(within, name);
    if (what === "file") await ifThere(unlink(entry));
    else if (what === "if empty") await ifThere(rmdir(entry));
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
    return ifThere(unlink(path));
  }
  try {
    const within = `/proc/self/fd/${directory.fd}`;
    for (const name of await readdir(within, { encoding: "buffer" })) await removeTree(entryOf(within, name));
  } finally {
    await directory.close();
  }
  await ifThere(rmdir(path));
}

async function ifThere(removed: Promise<void>): Promise<void> {
  try {
    await removed;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

function entryOf(directory: string, name: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${directory}/`), name]);
}
