import { closeSync, constants, fstatSync, openSync, readlinkSync } from "node:fs";
import { basename, dirname } from "node:path";
import { CapabilityError } from "../../../base/errors.ts";
import { isErrno } from "../../../native/os-error.ts";
import type { FileView } from "../view/file-view.ts";

const O_PATH = 0o10000000;

/** Attempts to prepare a sandbox whose files are being replaced. */
const MAX_ATTEMPTS = 3;

/** What a view mounts has changed since the view was made; another view may do. */
export class ViewChangedError extends CapabilityError {
  constructor(message: string) {
    super("OS_ERROR", message);
  }
}

/** Prepares a sandbox again, with another view, if what the last one mounts has changed meanwhile. */
export async function retryIfViewChanges<T>(attempt: () => Promise<T>): Promise<T> {
  for (let count = 1; ; count += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof ViewChangedError) || count === MAX_ATTEMPTS) throw error;
    }
  }
}

/** A path that is mounted, and a descriptor of exactly what was checked. */
export interface PinnedPath {
  readonly path: string;
  readonly fd: number;
}

/**
 * Opens everything on the disk that a view mounts. Between check and mount, a process with access to the directory
 * could put a link there; a descriptor keeps what was checked. Throws a ViewChangedError if that has already happened,
 * or if a path is gone: servers that share a directory create and remove placeholders there.
 */
export function pinBinds({ mounts }: FileView): PinnedPath[] {
  const pinned: PinnedPath[] = [];
  try {
    for (const { kind, path } of mounts) {
      if (kind !== "writable" && kind !== "readOnly") continue;
      pinned.push({ path, fd: pinBind(path) });
    }
    return pinned;
  } catch (error) {
    for (const { fd } of pinned) closeSync(fd);
    throw error;
  }
}

/** Works with a path whose directory is pinned: no link can divert it. */
export function inPinnedDirectory<T>(path: string, work: (pinned: string) => T): T {
  const fd = pin(dirname(path));
  try {
    return work(`/proc/self/fd/${fd}/${basename(path)}`);
  } finally {
    closeSync(fd);
  }
}

function pinBind(path: string): number {
  try {
    return pin(path);
  } catch (error) {
    throw isErrno(error, "ENOENT", "ENOTDIR") ? changed(path, "removed") : error;
  }
}

function pin(path: string): number {
  const fd = openSync(path, O_PATH | constants.O_NOFOLLOW);
  if (readlinkSync(`/proc/self/fd/${fd}`) === path && !fstatSync(fd).isSymbolicLink()) return fd;
  closeSync(fd);
  throw changed(path, "replaced");
}

function changed(path: string, change: "removed" | "replaced"): ViewChangedError {
  return new ViewChangedError(`${path} was ${change} while the sandbox was prepared`);
}
