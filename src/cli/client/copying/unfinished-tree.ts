import { createHash, randomBytes } from "node:crypto";
import { lstat, mkdir, readdir, realpath, rm, rmdir } from "node:fs/promises";
import { basename, dirname, posix, resolve } from "node:path";
import { isRunning, machine } from "../../../client/files/local/temporary-names.ts";
import { type CopyPlace, inPlace, isMissing, placeFailure, siblingOf } from "./copy-place.ts";

const MARK = /^\.exec-server-part-[0-9a-f]{16}-[0-9a-f]{16}$/;
/** Made by `in`: the machine and the process that has made it, and something random. */
const MADE_BY = /^\.exec-server-part-([0-9a-f]{8})([0-9a-f]{8})-[0-9a-f]{16}$/;

/** Whether a name is that of a mark of this or another copy. Those are not copied. */
export function isMark(name: string): boolean {
  return MARK.test(name);
}

/**
 * An empty directory that marks where a directory is being copied to. It is no file: a link that somebody else has put
 * in its place would lead that elsewhere. A copy that finds its own mark in its source would never end.
 */
export class UnfinishedTree {
  readonly name: string;
  readonly #place: CopyPlace;
  /** For messages: who may not write a name beside the copy may not write the copy either. */
  readonly #directory: string;

  /**
   * A mark beside a directory that is copied under a new name, until the copy is complete. Without it, the same command
   * would find a directory there, and copy into it.
   */
  static beside(destination: CopyPlace, source: CopyPlace): UnfinishedTree {
    const name = markName(shortHash(nameOf(destination)), shortHash(identityOf(source)));
    return new UnfinishedTree(siblingOf(destination, name));
  }

  /** A mark in a directory that is copied into, for the time of the copy. */
  static in(directory: CopyPlace): UnfinishedTree {
    const pid = process.pid.toString(16).padStart(8, "0");
    const name = markName(`${machine()}${pid}`, randomBytes(8).toString("hex"));
    return new UnfinishedTree(inPlace(directory, name));
  }

  /** Removes marks of that kind whose command was killed before it could. Never rejects: the copy does not need it. */
  static async sweep(directory: CopyPlace): Promise<void> {
    try {
      for (const name of await namesIn(directory))
        if (isAbandoned(name)) await removeEmpty(inPlace(directory, name)).catch(() => {});
    } catch {
      // The copy itself tells what cannot be reached.
    }
  }

  private constructor(place: CopyPlace) {
    this.#place = place;
    this.name = nameOf(place);
    this.#directory = `${place.prefix}${dirname(place.path)}`;
  }

  async exists(): Promise<boolean> {
    try {
      return await isDirectory(this.#place);
    } catch (error) {
      throw placeFailure(error, this.#directory);
    }
  }

  async mark(): Promise<void> {
    const { files, path } = this.#place;
    try {
      if (files === undefined) await mkdir(path);
      else await files.mkdir(path, { recursive: false });
    } catch (error) {
      throw placeFailure(error, this.#directory);
    }
  }

  async clear(): Promise<void> {
    const { files, path } = this.#place;
    if (files === undefined) await rm(path, { recursive: true, force: true });
    else await files.remove(path, { recursive: true, force: true });
  }

  /** Whether it is in the source, and the source on the machine where the mark is. */
  async isIn(source: CopyPlace): Promise<boolean> {
    try {
      const [root, path] = await Promise.all([canonical(source), canonical(this.#place)]);
      return path.startsWith(root === "/" ? root : `${root}/`) && (await isDirectory({ ...source, path }));
    } catch {
      return false; // The copy itself tells what cannot be reached.
    }
  }
}

async function isDirectory({ files, path }: CopyPlace): Promise<boolean> {
  try {
    if (files === undefined) return (await lstat(path)).isDirectory();
    return (await files.stat(path)).kind === "directory";
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

async function namesIn({ files, path }: CopyPlace): Promise<readonly string[]> {
  if (files === undefined) return readdir(path);
  return (await files.list(path)).map(({ name }) => name);
}

/** Commands of other machines may be running. */
function isAbandoned(name: string): boolean {
  const [, madeOn, pid = ""] = MADE_BY.exec(name) ?? [];
  return madeOn === machine() && !isRunning(Number.parseInt(pid, 16));
}

async function removeEmpty({ files, path }: CopyPlace): Promise<void> {
  if (files === undefined) await rmdir(path);
  else await files.remove(path, { recursive: false, force: true });
}

function canonical({ files, path }: CopyPlace): Promise<string> {
  return files === undefined ? realpath(path) : files.realpath(path);
}

function markName(one: string, other: string): string {
  return `.exec-server-part-${one}-${other}`;
}

function nameOf({ files, path }: CopyPlace): string {
  return files === undefined ? basename(resolve(path)) : posix.basename(path);
}

function identityOf({ files, path, prefix }: CopyPlace): string {
  return `${prefix}${files === undefined ? resolve(path) : posix.normalize(path)}`;
}

function shortHash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}
