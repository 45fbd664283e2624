import { constants } from "node:fs";
import { type FileHandle, open, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { randomId } from "../../base/random-id.ts";

/** Opens a directory without the right to list it. */
const O_PATH = 0o10000000;
const RANDOM_ID = /^[0-9a-f-]{36}$/;

/**
 * Where an output is written. Programs that a sandbox confines to this directory may work in it, and this program is not
 * confined: so it follows no link of theirs, uses no name that they can foresee, and stays in the directory that it has
 * opened, whatever takes its place.
 */
export class OutputDirectory implements AsyncDisposable {
  readonly #handle: FileHandle | undefined;
  readonly #within: string;
  readonly #name: string;

  private constructor(path: string, directory: FileHandle | undefined) {
    this.#handle = directory;
    this.#within = directory === undefined ? dirname(path) : `/proc/self/fd/${directory.fd}`;
    this.#name = basename(path);
  }

  static async open(path: string): Promise<OutputDirectory> {
    // Other systems have no paths for open files.
    const isLinux = process.platform === "linux";
    return new OutputDirectory(
      path,
      isLinux ? await open(dirname(path), O_PATH | constants.O_DIRECTORY) : undefined,
    );
  }

  /** Replaces the file when `write` has written the new one, and resolves with that, open. */
  async replace(write: (file: FileHandle) => Promise<void>): Promise<FileHandle> {
    const unfinished = join(this.#within, `${this.#unfinishedPrefix}${randomId()}`);
    const file = await open(unfinished, "ax");
    try {
      await write(file);
      await rename(unfinished, join(this.#within, this.#name));
      return file;
    } catch (error) {
      await file.close();
      await rm(unfinished, { force: true });
      throw error;
    }
  }

  /** Removes what killed programs have left. No other program may work on this output. */
  async removeUnfinished(): Promise<void> {
    // A directory that cannot be listed can still take results.
    const names = await readdir(this.#within).catch(() => []);
    for (const name of names)
      if (
        name.startsWith(this.#unfinishedPrefix) &&
        RANDOM_ID.test(name.slice(this.#unfinishedPrefix.length))
      )
        await rm(join(this.#within, name), { force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle?.close();
  }

  get #unfinishedPrefix(): string {
    return `.${this.#name}.part-`;
  }
}
