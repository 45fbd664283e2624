import { mkdirSync, rmdirSync } from "node:fs";
import { isErrno } from "../../native/os-error.ts";

/**
 * Directories that exist only as mount points: nothing can be mounted over a name that does not exist, and without a
 * mount it could be created. They are empty, and disappear with the last sandbox that needs them. If the server is
 * killed, they stay.
 */
export class Placeholders {
  readonly #users = new Map<string, number>();

  /** Creates those that do not exist. Returns a function that gives them up. */
  hold(absent: readonly string[], present: readonly string[]): () => void {
    const held: string[] = [];
    const release = (): void => {
      for (const path of held.splice(0)) this.#giveUp(path);
    };
    try {
      for (const path of absent) if (this.#users.has(path) || create(path)) this.#use(path, held);
    } catch (error) {
      release();
      throw error;
    }
    // Another sandbox made these, and they must not disappear under this one.
    for (const path of present) if (this.#users.has(path)) this.#use(path, held);
    return release;
  }

  #use(path: string, held: string[]): void {
    this.#users.set(path, (this.#users.get(path) ?? 0) + 1);
    held.push(path);
  }

  #giveUp(path: string): void {
    const users = (this.#users.get(path) ?? 1) - 1;
    if (users > 0) {
      this.#users.set(path, users);
      return;
    }
    this.#users.delete(path);
    try {
      rmdirSync(path);
    } catch {
      // Somebody outside has put something into it, or removed it.
    }
  }
}

/** False if it exists by now: then it is not ours to remove. */
function create(path: string): boolean {
  try {
    mkdirSync(path);
    return true;
  } catch (error) {
    if (isErrno(error, "EEXIST")) return false;
    throw error;
  }
}
