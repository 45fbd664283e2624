import { closeSync, lstatSync, mkdirSync, openSync, rmdirSync, unlinkSync } from "node:fs";
import { messageOf } from "../../../base/errors.ts";
import { isErrno } from "../../../native/os-error.ts";
import { SandboxRefusal } from "../policy/sandbox-refusal.ts";
import type { FileView, ViewMount } from "../view/file-view.ts";

const FILE_MODE = 0o600;

/**
 * Directories and files that exist only as mount points: nothing can be mounted over a name that does not exist, and
 * without a mount it could be created. They are empty, and disappear with the last sandbox that needs them. If the
 * server is killed, they stay.
 */
export class Placeholders {
  readonly #held = new Map<string, Held>();

  /** Creates those of a view that do not exist. Returns a function that gives them up. */
  hold({ mounts }: Pick<FileView, "mounts">): () => void {
    const paths: string[] = [];
    const release = (): void => {
      for (const path of paths.splice(0)) this.#giveUp(path);
    };
    try {
      for (const { kind, path } of mounts) {
        // One that is held may have been removed outside.
        if (isAbsent(kind) && create(path, kind)) this.#use(path, paths, identityOf(path));
        // Another sandbox made it, and it must not disappear under this one.
        else if (kind !== "link" && this.#held.has(path)) this.#use(path, paths);
      }
    } catch (error) {
      release();
      throw error;
    }
    return release;
  }

  #use(path: string, paths: string[], identity = this.#held.get(path)?.identity): void {
    this.#held.set(path, { users: (this.#held.get(path)?.users ?? 0) + 1, identity });
    paths.push(path);
  }

  #giveUp(path: string): void {
    const { users = 1, identity } = this.#held.get(path) ?? {};
    if (users > 1) {
      this.#held.set(path, { users: users - 1, identity });
      return;
    }
    this.#held.delete(path);
    // A link may lead the path elsewhere by now, to a directory that is somebody else's.
    if (identity === undefined || identityOf(path) !== identity) return;
    try {
      remove(path);
    } catch {
      // Somebody outside has put something into it, or removed it.
    }
  }
}

interface Held {
  readonly users: number;
  /** Device and inode of the directory that was created. */
  readonly identity: string | undefined;
}

function identityOf(path: string): string | undefined {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  return stat === undefined ? undefined : `${stat.dev}:${stat.ino}`;
}

function isAbsent(kind: ViewMount["kind"]): kind is "absent" | "absentFile" {
  return kind === "absent" || kind === "absentFile";
}

/** False if it exists by now: then it is not ours to remove. */
function create(path: string, kind: "absent" | "absentFile"): boolean {
  try {
    if (kind === "absent") mkdirSync(path);
    else closeSync(openSync(path, "wx", FILE_MODE));
    return true;
  } catch (error) {
    if (isErrno(error, "EEXIST")) return false;
    throw new SandboxRefusal(`a sandbox cannot reserve the name ${path}: ${messageOf(error)}`);
  }
}

/** Nothing that somebody has filled. */
function remove(path: string): void {
  const stat = lstatSync(path);
  if (stat.isDirectory()) rmdirSync(path);
  else if (stat.size === 0) unlinkSync(path);
}
