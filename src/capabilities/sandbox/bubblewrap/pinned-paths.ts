import { closeSync, constants, fstatSync, openSync, readlinkSync } from "node:fs";
import { basename, dirname } from "node:path";
import { CapabilityError } from "../../../base/errors.ts";
import type { FileView } from "../view/file-view.ts";

const O_PATH = 0o10000000;

/** A path that is mounted, and a descriptor of exactly what it was when it was checked. */
export interface PinnedPath {
  readonly path: string;
  readonly fd: number;
}

/**
 * Opens everything of the disk that a view mounts. Between the look at the disk and the mount, something with access to the
 * directory could put a link there; a descriptor keeps to what was seen. Throws if that has already happened.
 */
export function pinBinds({ mounts }: FileView): PinnedPath[] {
  const pinned: PinnedPath[] = [];
  try {
    for (const { kind, path } of mounts) {
      if (kind !== "writable" && kind !== "readOnly") continue;
      pinned.push({ path, fd: pin(path) });
    }
    return pinned;
  } catch (error) {
    for (const { fd } of pinned) closeSync(fd);
    throw error;
  }
}

/** Works with a path whose directory is, and stays, the one of that name: no link leads elsewhere. */
export function inPinnedDirectory<T>(path: string, work: (pinned: string) => T): T {
  const fd = pin(dirname(path));
  try {
    return work(`/proc/self/fd/${fd}/${basename(path)}`);
  } finally {
    closeSync(fd);
  }
}

function pin(path: string): number {
  const fd = openSync(path, O_PATH | constants.O_NOFOLLOW);
  if (readlinkSync(`/proc/self/fd/${fd}`) === path && !fstatSync(fd).isSymbolicLink()) return fd;
  closeSync(fd);
  throw new CapabilityError("OS_ERROR", `${path} was replaced while the sandbox was prepared`);
}
