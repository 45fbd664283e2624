import { lstatSync, mkdirSync, rmdirSync } from "node:fs";
import { messageOf } from "../../../base/errors.ts";
import { isErrno } from "../../../native/os-error.ts";
import { SandboxRefusal } from "../policy/sandbox-refusal.ts";

/**
 * Directories that exist only as mount points: nothing can be mounted over a name that does not exist, and without a
 * mount it could be created. They are empty, and disappear with the last sandbox that needs them. If the server is
 * killed, they stay.
 */
export class Placeholders {
  readonly #held = new Map<string, Held>();

  /** Creates those that do not exist. Returns a function that gives them up. */
  hold(absent: readonly string[], present: readonly string[]): () => void {
    const paths: string[] = [];
    const release = (): void => {
      for (const path of paths.splice(0)) this.#giveUp(path);
    };
    try {
      for (const path of absent) {
        // One that is held may have been removed outside.
        if (create(path)) this.#use(path, paths, identityOf(path));
        else if (this.#held.has(path)) this.#use(path, paths);
      }
    } catch (error) {
      release();
      throw error;
    }
    // Another sandbox made these, and they must not disappear under this one.
    for (const path of present) if (this.#held.has(path)) this.#use(path, paths);
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
      rmdirSync(path);
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

/** False if it exists by now: then it is not ours to remove. */
function create(path: string): boolean {
  try {
    mkdirSync(path);
    return true;
  } catch (error) {
    if (isErrno(error, "EEXIST")) return false;
    throw new SandboxRefusal(`a sandbox cannot reserve the name ${path}: ${messageOf(error)}`);
  }
}
