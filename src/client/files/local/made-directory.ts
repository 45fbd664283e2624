import { lstat, mkdir, realpath, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { checkDirectory, makeDirectoryInPlace } from "./in-place.ts";
import { onLocal } from "./local-error.ts";
import { type MadeDirectory, UNFINISHED_MODE } from "./sides.ts";
import { linkInTheWay, notADirectory } from "./tree-copy.ts";

/** The directory that the caller has chosen, so links on the way to it are followed. */
export async function makeTarget(operation: string, path: string, mode: number): Promise<MadeDirectory> {
  await onLocal(operation, path, () => mkdir(dirname(resolve(path)), { recursive: true }));
  const isNew = await onLocal(operation, path, () => makeTargetItself(path, mode));
  const real = await onLocal(operation, path, () => realpath(path));
  return { path: real, isNew, isUnfinished: !isNew && (await isUnfinished(real)) };
}

/** False if it exists. */
async function makeTargetItself(path: string, mode: number): Promise<boolean> {
  try {
    await mkdir(path, { mode });
    return true;
  } catch (error) {
    if ((await stat(path).catch(() => undefined))?.isDirectory()) return false;
    throw error;
  }
}

/** A directory in it. An existing one must be a directory, and not a link to one. */
export async function makeDirectory(operation: string, path: string, mode: number): Promise<MadeDirectory> {
  const isNew = await onLocal(operation, path, () => makeDirectoryInPlace(path, mode)).then(
    () => true,
    async (error: unknown) => {
      const info = await lstat(path).catch(() => undefined);
      if (info?.isDirectory()) return false;
      if (info === undefined) throw error;
      throw info.isSymbolicLink() ? linkInTheWay(operation, path) : notADirectory(operation, path);
    },
  );
  await onLocal(operation, path, () => checkDirectory(path));
  return { path, isNew, isUnfinished: !isNew && (await isUnfinished(path)) };
}

async function isUnfinished(path: string): Promise<boolean> {
  return ((await lstat(path)).mode & 0o7777) === UNFINISHED_MODE;
}
