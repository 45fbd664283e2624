import { type BigIntStats, fstatSync, readdirSync, realpathSync, statSync } from "node:fs";
import { basename, dirname } from "node:path";

/** How long directories count as what they were: only whoever set up the server moves them. */
const DIRECTORIES_LAST_MS = 1000;

/**
 * Files of the server itself, with those that were made of them (`FILE.*`), and the directories on the way to them. They
 * are known by what they are, not by their names: a hard link or a mount can show them anywhere. The files are looked up
 * each time, because others take their places.
 */
export class OwnFiles {
  readonly #paths: readonly string[];
  #directories: ReadonlySet<string> = new Set();
  #lookedUpAt = Number.NEGATIVE_INFINITY;

  constructor(paths: readonly string[]) {
    this.#paths = paths;
  }

  /** Whether an open file or directory is one of them. */
  has(fd: number): boolean {
    const stat = fstatSync(fd, { bigint: true });
    const key = inodeKey(stat);
    if (stat.isDirectory()) return this.#directoriesNow().has(key);
    if (this.#paths.some((path) => key === keyAt(path))) return true;
    return stat.isFile() && stat.nlink > 1n && this.#paths.some((path) => madeOf(path).includes(key));
  }

  #directoriesNow(): ReadonlySet<string> {
    const now = performance.now();
    if (now - this.#lookedUpAt < DIRECTORIES_LAST_MS) return this.#directories;
    const found = this.#paths.flatMap((path) => [path, real(path)].flatMap(withDirectoriesAbove));
    this.#directories = new Set([...new Set(found)].map(keyAt).filter((key) => key !== undefined));
    this.#lookedUpAt = now;
    return this.#directories;
  }
}

function madeOf(path: string): (string | undefined)[] {
  const end = real(path);
  try {
    return readdirSync(dirname(end))
      .filter((name) => name.startsWith(`${basename(end)}.`))
      .map((name) => keyAt(`${dirname(end)}/${name}`));
  } catch {
    return []; // Without its directory there is none.
  }
}

function withDirectoriesAbove(path: string): string[] {
  const directory = dirname(path);
  return directory === path ? [path] : [path, ...withDirectoriesAbove(directory)];
}

/** The path itself if it does not exist. */
function real(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}

function keyAt(path: string): string | undefined {
  try {
    const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
    return stat && inodeKey(stat);
  } catch {
    return undefined; // A loop of links, or a directory that may not be searched.
  }
}

function inodeKey({ dev, ino }: BigIntStats): string {
  return `${dev} ${ino}`;
}
