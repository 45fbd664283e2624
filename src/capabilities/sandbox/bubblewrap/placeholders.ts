import { SandboxRefusal } from "../policy/sandbox-policy.ts";
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  rmdirSync,
  type Stats,
  unlinkSync,
} from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { messageOf } from "../../../base/errors.ts";
import { tryToLockOpen, tryToShareOpen } from "../../../native/file-lock.ts";
import { isErrno } from "../../../native/os-error.ts";
import { resultOr } from "../../../native/result-or.ts";
import type { FileView, ViewMount } from "../view/file-view.ts";
import { inPinnedDirectory } from "./pinned-paths.ts";
import { isProtectedName } from "../view/protected-names.ts";

const FILE_MODE = 0o600;
/** Includes the sticky bit, which has no effect here but marks placeholders for other servers. */
const MARK = 0o1000;
const DIRECTORY_MODE = MARK | 0o777;
/** Servers of other users must be able to lock it. */
const READABLE = 0o555;
/** Removing one takes microseconds, unless the server that does it is stopped. */
const LOCKED_RETRY_MS = 2;
const LOCKED_DEADLINE_MS = 1_000;

/**
 * Directories and files that exist only as mount points: a missing name cannot be mounted over, and without a mount it
 * could be created. They are empty, and disappear with the last sandbox that needs them, of any server: the system
 * removes a mount along with its mount point. So each server shares a lock on those it needs, and removes one only if
 * it can lock it exclusively. When a server is killed, its locks are released, and the next one cleans up.
 */
export class Placeholders {
  readonly #held = new Map<string, Held>();

  /** Creates the missing ones of a view. Returns a function that releases them. */
  async hold({ mounts }: Pick<FileView, "mounts">): Promise<() => void> {
    const paths: string[] = [];
    const release = (): void => {
      for (const path of paths.splice(0)) this.#giveUp(path);
    };
    try {
      for (const { kind, path } of mounts) {
        if (isAbsent(kind)) {
          if (await this.#take(path, kind)) paths.push(path);
        } else if (kind !== "link" && this.#held.has(path)) {
          // Another sandbox made it, and it must not disappear under this one.
          this.#held.get(path)!.users += 1;
          paths.push(path);
        }
      }
    } catch (error) {
      release();
      throw error;
    }
    return release;
  }

  /** False for something that no server would remove. */
  async #take(path: string, kind: "absent" | "absentFile"): Promise<boolean> {
    const deadline = performance.now() + LOCKED_DEADLINE_MS;
    for (;;) {
      const held = this.#held.get(path);
      // A held one may have been removed outside.
      if (held !== undefined && held.identity === identityOf(path)) {
        held.users += 1;
        return true;
      }
      const locked = reserve(path, kind);
      if (locked === "foreign") return false;
      if (typeof locked === "object") {
        if (held !== undefined) closeSync(held.fd);
        this.#held.set(path, { ...locked, users: (held?.users ?? 0) + 1 });
        return true;
      }
      if (performance.now() > deadline)
        throw new SandboxRefusal(`a sandbox cannot reserve the name ${path}: another program has locked it`);
      if (locked === "locked") await delay(LOCKED_RETRY_MS);
    }
  }

  #giveUp(path: string): void {
    const held = this.#held.get(path);
    if (held === undefined) return;
    held.users -= 1;
    if (held.users > 0) return;
    this.#held.delete(path);
    try {
      // A link may by now divert the path to someone else's directory.
      if (held.isOurs && tryToLockOpen(held.fd))
        inPinnedDirectory(path, (pinned) => {
          if (identityOf(pinned) === held.identity) remove(pinned);
        });
    } catch {
      // A program outside has put something into it, or removed it, or that disk does not support locks.
    } finally {
      closeSync(held.fd);
    }
  }
}

interface Locked {
  /** Is open as long as the lock is held. */
  readonly fd: number;
  /** Device and inode. */
  readonly identity: string;
  /** Whether it exists only as a mount point. */
  readonly isOurs: boolean;
}

interface Held extends Locked {
  users: number;
}

/**
 * The server is not confined: what it creates must be in the policy's directory, even if a link has replaced a part of
 * the path.
 */
function reserve(path: string, kind: "absent" | "absentFile"): ReturnType<typeof lockShared> {
  try {
    return inPinnedDirectory(path, (pinned) => lockShared(pinned, create(pinned, kind)));
  } catch (error) {
    throw new SandboxRefusal(`a sandbox cannot reserve the name ${path}: ${messageOf(error)}`);
  }
}

/**
 * Shares the lock on the entry at a path. `gone`: it has been removed since; `locked`: it is being removed, or another
 * program has locked it; `foreign`: it was not created by a server.
 */
function lockShared(path: string, isNew: boolean): Locked | "gone" | "locked" | "foreign" {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (isErrno(error, "ENOENT")) return "gone";
    if (isErrno(error, "EACCES", "ELOOP", "ENXIO")) return "foreign";
    throw error;
  }
  let locked: Locked | undefined;
  try {
    // Without locks, nothing is ever removed, because exclusive locks fail, too.
    if (!resultOr(true, () => tryToShareOpen(fd))) return "locked";
    const stat = fstatSync(fd);
    if (identityOf(path) !== identity(stat)) return "gone";
    if (isNew && stat.isDirectory()) makeReadable(fd, stat);
    locked = { fd, identity: identity(stat), isOurs: isNew || isMarked(path, stat) };
    return locked;
  } finally {
    if (locked === undefined) closeSync(fd);
  }
}

function makeReadable(fd: number, { mode }: Stats): void {
  // Some file systems do not support modes.
  if ((mode & READABLE) !== READABLE) resultOr(undefined, () => fchmodSync(fd, mode | READABLE));
}

/** Whether another server created it, or an earlier one that was killed. */
function isMarked(path: string, stat: Stats): boolean {
  return stat.isDirectory() && (stat.mode & MARK) !== 0 && isProtectedName(path);
}

function identityOf(path: string): string | undefined {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  return stat && identity(stat);
}

function identity({ dev, ino }: Stats): string {
  return `${dev}:${ino}`;
}

function isAbsent(kind: ViewMount["kind"]): kind is "absent" | "absentFile" {
  return kind === "absent" || kind === "absentFile";
}

/** False if it exists by now: then it may not be ours to remove. */
function create(path: string, kind: "absent" | "absentFile"): boolean {
  try {
    if (kind === "absent") mkdirSync(path, DIRECTORY_MODE);
    else closeSync(openSync(path, "wx", FILE_MODE));
    return true;
  } catch (error) {
    if (isErrno(error, "EEXIST")) return false;
    throw error;
  }
}

/** Removes it only if it is still empty. */
function remove(path: string): void {
  const stat = lstatSync(path);
  if (stat.isDirectory()) rmdirSync(path);
  else if (stat.size === 0) unlinkSync(path);
}
