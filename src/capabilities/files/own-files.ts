import { type BigIntStats, fstatSync, readdirSync, realpathSync, statSync } from "node:fs";
import { basename, dirname } from "node:path";
import { resultOr } from "../../native/result-or.ts";

/** How long looked-up directories stay valid: only the operator moves them. */
const DIRECTORIES_LAST_MS = 1000;

/**
 * The server's own files, files derived from them (`FILE.*`), and the directories on the way to them. They are
 * recognized by identity, not by name: a hard link or a mount can show them anywhere. The files are looked up each
 * time, because they get replaced.
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
    const paths = this.#paths.flatMap((path) => [path, real(path)].flatMap(withDirectoriesAbove));
    this.#directories = new Set([...new Set(paths)].map(keyAt).filter((key) => key !== undefined));
    this.#lookedUpAt = now;
    return this.#directories;
  }
}

function madeOf(path: string): (string | undefined)[] {
  const end = real(path);
  // Files derived from it exist only if its directory does.
  return resultOr([], () => readdirSync(dirname(end)))
    .filter((name) => name.startsWith(`${basename(end)}.`))
    .map((name) => keyAt(`${dirname(end)}/${name}`));
}

function withDirectoriesAbove(path: string): string[] {
  const directory = dirname(path);
  return directory === path ? [path] : [path, ...withDirectoriesAbove(directory)];
}

/** The path itself if it does not exist. */
function real(path: string): string {
  return resultOr(path, () => realpathSync.native(path));
}

function keyAt(path: string): string | undefined {
  // Fails for a loop of links, and for a directory that may not be searched.
  const stat = resultOr(undefined, () => statSync(path, { bigint: true, throwIfNoEntry: false }));
  return stat && inodeKey(stat);
}

function inodeKey({ dev, ino }: BigIntStats): string {
  return `${dev} ${ino}`;
}
