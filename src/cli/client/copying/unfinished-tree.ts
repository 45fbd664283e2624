import { createHash } from "node:crypto";
import { lstat, mkdir, rm } from "node:fs/promises";
import { basename, dirname, posix, resolve } from "node:path";
import { type CopyPlace, isMissing, placeFailure, siblingOf } from "./copy-place.ts";

/**
 * An empty directory beside one that is being copied under a new name, until the copy is complete. Without it, the same
 * command would find a directory there, and copy into it. It is no file: a link that somebody else has put in its place
 * would lead that elsewhere.
 */
export class UnfinishedTree {
  readonly name: string;
  readonly #place: CopyPlace;
  /** For messages: who may not write a name beside the copy may not write the copy either. */
  readonly #directory: string;

  constructor(source: CopyPlace, destination: CopyPlace) {
    this.name = `.exec-server-part-${shortHash(nameOf(destination))}-${shortHash(identityOf(source))}`;
    this.#place = siblingOf(destination, this.name);
    this.#directory = `${this.#place.prefix}${dirname(this.#place.path)}`;
  }

  async exists(): Promise<boolean> {
    const { files, path } = this.#place;
    try {
      if (files === undefined) return (await lstat(path)).isDirectory();
      return (await files.stat(path)).kind === "directory";
    } catch (error) {
      if (isMissing(error)) return false;
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
