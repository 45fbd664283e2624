import { closeSync, constants, lstatSync, openSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { CapabilityError } from "../../base/errors.ts";
import { Turns } from "../turns.ts";
import { fileError, throwIfGone } from "./file-error.ts";
import { type NativePath, splitPath } from "./native-path.ts";
import { openDirectoryAt, removeAt, removeNoFollow } from "./no-follow.ts";
import type { Location } from "./location.ts";
import { refuseEntry } from "./writing.ts";

export interface RemoveOptions {
  readonly recursive: boolean;
  /** A missing path is not an error. */
  readonly force: boolean;
  readonly followSymlinks: boolean;
  /** Ends the removal of a tree, of which the rest stays. */
  readonly signal: AbortSignal;
}

/** Links are removed, never followed, including those that appear while a tree is being removed. */
export async function remove(
  location: Location,
  { recursive, force, followSymlinks, signal }: RemoveOptions,
): Promise<void> {
  if (!followSymlinks && recursive)
    throw new CapabilityError("OS_ERROR", "recursive no-follow removal is unsupported");
  try {
    location.checkChange();
    if (followSymlinks) await location.onEntry((entry) => removeFrom(location, entry, { recursive, signal }));
    else removeNoFollow(location, location.check({ followSymlinks }).path);
  } catch (error) {
    const translated = fileError(error);
    if (!force || (translated as CapabilityError).errno !== "ENOENT") throw translated;
  }
}

async function removeFrom(
  location: Location,
  path: NativePath,
  options: Pick<RemoveOptions, "recursive" | "signal">,
): Promise<void> {
  // A read-only file system reports EROFS even before it reports that the file is missing.
  lstatSync(path);
  // Nor does a tree reach into another file system: a mount point is never removed.
  refuseEntry(location, path);
  const { directory, name } = splitPath(path);
  const parent = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await removeTree(parent, name, { ...options, turns: new Turns() });
  } finally {
    closeSync(parent);
  }
}

interface Removal extends Pick<RemoveOptions, "recursive" | "signal"> {
  readonly turns: Turns;
}

async function removeTree(parent: number, name: NativePath, removal: Removal): Promise<void> {
  const { recursive, signal, turns } = removal;
  if (turns.over) await turns.next();
  try {
    removeAt(parent, name);
    return;
  } catch (error) {
    if (!recursive || !(error instanceof CapabilityError) || error.errno !== "ENOTEMPTY") throw error;
  }
  throwIfGone(signal);
  const directory = openDirectoryAt(parent, name);
  try {
    // Lists the very directory that was opened, wherever its path leads by now.
    for (const inner of await readdir(`/proc/self/fd/${directory}`, { encoding: "buffer" })) {
      throwIfGone(signal);
      await removeTree(directory, inner, removal);
    }
  } finally {
    closeSync(directory);
  }
  if (turns.over) await turns.next();
  removeAt(parent, name);
}
