import { lstat, mkdir, realpath, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { FileError } from "../file-error.ts";
import { checkDirectory } from "./in-place.ts";
import { onLocal } from "./local-error.ts";

/** Where a directory is filled, and whether it was created for that. */
export interface MadeDirectory {
  readonly local: string;
  readonly isNew: boolean;
}

/** The directory that the caller has chosen, so links on the way to it are followed. */
export async function makeTarget(operation: string, path: string, mode: number): Promise<MadeDirectory> {
  await onLocal(operation, path, () => mkdir(dirname(resolve(path)), { recursive: true }));
  const isNew = await onLocal(operation, path, () => makeTargetItself(path, mode));
  return { local: await onLocal(operation, path, () => realpath(path)), isNew };
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
  const isNew = await onLocal(operation, path, () => mkdir(path, { mode })).then(
    () => true,
    async (error: unknown) => {
      const found = await lstat(path).catch(() => undefined);
      if (found?.isDirectory()) return false;
      if (found === undefined) throw error;
      const what = found.isSymbolicLink()
        ? "it is a symbolic link, which is not followed"
        : "it is not a directory";
      throw new FileError("INVALID_INPUT", `${operation} ${path}: ${what}`, { path, errno: "ENOTDIR" });
    },
  );
  await onLocal(operation, path, () => checkDirectory(path));
  return { local: path, isNew };
}
