import { createHash, randomBytes } from "node:crypto";
import { lstat, mkdir, readdir, realpath, rm, rmdir } from "node:fs/promises";
import { basename, dirname, posix, resolve } from "node:path";
import { isRunning, machine } from "../../../client/files/local/temporary-names.ts";
import { type CopyLocation, childOf, isMissing, locationFailure, siblingOf } from "./copy-location.ts";

const MARK = /^\.exec-server-part-[0-9a-f]{16}-[0-9a-f]{16}$/;
/** Made by `in`: the machine and the process that has made it, and something random. */
const MADE_BY = /^\.exec-server-part-([0-9a-f]{8})([0-9a-f]{8})-[0-9a-f]{16}$/;

/** Whether a name is a mark of this or another copy. Marks are not copied. */
export function isMark(name: string): boolean {
  return MARK.test(name);
}

/**
 * An empty directory that marks where a directory is being copied to. It is not a file, because a link put in its place
 * would lead a write elsewhere. A copy that finds its own mark in its source would never end.
 */
export class UnfinishedTree {
  readonly name: string;
  readonly #location: CopyLocation;
  /** Directory for messages: a user who may not write a name beside the copy may not write the copy, either. */
  readonly #directory: string;

  /**
   * A mark beside a directory that is copied under a new name, until the copy is complete. Without it, the same command
   * would find a directory there, and copy into it.
   */
  static beside(destination: CopyLocation, source: CopyLocation): UnfinishedTree {
    const name = markName(shortHash(nameOf(destination)), shortHash(identityOf(source)));
    return new UnfinishedTree(siblingOf(destination, name));
  }

  /** A mark in a directory that is copied into, for the time of the copy. */
  static in(directory: CopyLocation): UnfinishedTree {
    const pid = process.pid.toString(16).padStart(8, "0");
    const name = markName(`${machine()}${pid}`, randomBytes(8).toString("hex"));
    return new UnfinishedTree(childOf(directory, name));
  }

  /** Removes such marks of killed commands. Never rejects: the copy does not need it. */
  static async sweep(directory: CopyLocation): Promise<void> {
    try {
      for (const name of await namesIn(directory))
        if (isAbandoned(name)) await removeEmpty(childOf(directory, name)).catch(() => {});
    } catch {
      // The copy itself reports what cannot be reached.
    }
  }

  private constructor(location: CopyLocation) {
    this.#location = location;
    this.name = nameOf(location);
    this.#directory = `${location.prefix}${dirname(location.path)}`;
  }

  async exists(): Promise<boolean> {
    try {
      return await isDirectory(this.#location);
    } catch (error) {
      throw locationFailure(error, this.#directory);
    }
  }

  async mark(): Promise<void> {
    const { files, path } = this.#location;
    try {
      if (files === undefined) await mkdir(path);
      else await files.mkdir(path, { recursive: false });
    } catch (error) {
      throw locationFailure(error, this.#directory);
    }
  }

  async clear(): Promise<void> {
    const { files, path } = this.#location;
    if (files === undefined) await rm(path, { recursive: true, force: true });
    else await files.remove(path, { recursive: true, force: true });
  }

  /** Whether it is in the source, and the source on the mark's machine. */
  async isIn(source: CopyLocation): Promise<boolean> {
    try {
      const [root, path] = await Promise.all([canonical(source), canonical(this.#location)]);
      return path.startsWith(root === "/" ? root : `${root}/`) && (await isDirectory({ ...source, path }));
    } catch {
      return false; // The copy itself reports what cannot be reached.
    }
  }
}

async function isDirectory({ files, path }: CopyLocation): Promise<boolean> {
  try {
    if (files === undefined) return (await lstat(path)).isDirectory();
    return (await files.stat(path)).kind === "directory";
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

async function namesIn({ files, path }: CopyLocation): Promise<readonly string[]> {
  if (files === undefined) return readdir(path);
  return (await files.list(path)).map(({ name }) => name);
}

/** Commands of other machines may be running. */
function isAbandoned(name: string): boolean {
  const [, madeOn, pid = ""] = MADE_BY.exec(name) ?? [];
  return madeOn === machine() && !isRunning(Number.parseInt(pid, 16));
}

async function removeEmpty({ files, path }: CopyLocation): Promise<void> {
  if (files === undefined) await rmdir(path);
  else await files.remove(path, { recursive: false, force: true });
}

function canonical({ files, path }: CopyLocation): Promise<string> {
  return files === undefined ? realpath(path) : files.realpath(path);
}

function markName(one: string, other: string): string {
  return `.exec-server-part-${one}-${other}`;
}

function nameOf({ files, path }: CopyLocation): string {
  return files === undefined ? basename(resolve(path)) : posix.basename(path);
}

function identityOf({ files, path, prefix }: CopyLocation): string {
  return `${prefix}${files === undefined ? resolve(path) : posix.normalize(path)}`;
}

function shortHash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}
