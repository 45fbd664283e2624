import { isUtf8 } from "node:buffer";
import type { Stats } from "node:fs";
import { type FileHandle, lstat, readlink, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import type { BorrowedBytes } from "../../calls/wire-bytes.ts";
import { BLOCK_BYTES } from "../file-blocks.ts";
import { FileError } from "../file-error.ts";
import type { TreeEntry } from "../trees.ts";
import { listDirectory, openToRead } from "./in-place.ts";
import { onLocal } from "./local-error.ts";
import { hashOpened } from "./local-hash.ts";
import type { Found, Hasher, HashRange, Listed, Source, Version } from "./sides.ts";

/** Windows has no permissions of this kind. */
const HAS_MODES = process.platform !== "win32";

/** Files of this machine to be copied. Nothing is read through a link unless links are followed. */
export class LocalSource implements Source {
  readonly isRemote = false;
  readonly knowsLinks = true;
  readonly knowsModes = HAS_MODES;
  readonly hasher: Hasher = { hash: (path, range) => this.#hash(path, range) };
  readonly #operation: string;
  readonly #reading: { readonly follow: boolean };

  constructor(operation: string, reading: { follow: boolean }) {
    this.#operation = operation;
    this.#reading = reading;
  }

  child(directory: string, name: string): string {
    return join(directory, name);
  }

  async start(path: string): Promise<{ path: string; found: Found }> {
    const found = foundOf(await this.#on(path, () => stat(path)));
    return { path: await this.#on(path, () => realpath(path)), found };
  }

  async list(directory: string): Promise<Listed[]> {
    const names = await this.#on(directory, () => listDirectory(directory, this.#reading));
    return names
      .map((bytes): Listed => {
        const name = bytes.toString("utf8");
        return isUtf8(bytes) ? { name } : { name, refused: this.#notText(name, directory) };
      })
      .sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  async describe(path: string, { refused }: Listed): Promise<Found> {
    if (refused !== undefined) throw refused;
    return foundOf(await this.#on(path, () => lstat(path)));
  }

  async follow(path: string): Promise<Found> {
    return foundOf(await this.#on(path, () => stat(path)));
  }

  async identify(directory: string): Promise<string> {
    const { dev, ino } = await this.#on(directory, () => stat(directory));
    return `${dev}:${ino}`;
  }

  async readLink(path: string): Promise<string> {
    return this.#textOf(await this.#on(path, () => readlink(path, { encoding: "buffer" })), path);
  }

  async readSmall(path: string, size: number): Promise<BorrowedBytes | undefined> {
    return this.#opened(path, async (file) => {
      const bytes = Buffer.allocUnsafe(size + 1);
      let length = 0;
      for (let isEnd = false; !isEnd && length < bytes.length; ) {
        const { bytesRead } = await file.read(bytes, length, bytes.length - length);
        length += bytesRead;
        isEnd = bytesRead === 0;
      }
      return length <= size ? { bytes: bytes.subarray(0, length) } : undefined;
    });
  }

  async version(path: string): Promise<Version> {
    const { size, mtimeMs } = await this.#on(path, () => (this.#reading.follow ? stat(path) : lstat(path)));
    return { size, modifiedMs: mtimeMs };
  }

  /** Each block is the same memory. */
  async *blocks(path: string, offset: number): AsyncGenerator<Uint8Array> {
    const file = await this.#on(path, () => openToRead(path, this.#reading));
    try {
      const block = new Uint8Array(BLOCK_BYTES);
      for (let position = offset; ; ) {
        const { bytesRead } = await this.#on(path, () => file.read(block, 0, block.length, position));
        if (bytesRead === 0) return;
        position += bytesRead;
        yield block.subarray(0, bytesRead);
      }
    } finally {
      await file.close();
    }
  }

  #hash(path: string, range: HashRange | undefined): Promise<string> {
    return this.#opened(path, (file) => hashOpened(file, range));
  }

  #opened<T>(path: string, work: (file: FileHandle) => Promise<T>): Promise<T> {
    return this.#on(path, async () => {
      const file = await openToRead(path, this.#reading);
      try {
        return await work(file);
      } finally {
        await file.close();
      }
    });
  }

  #on<T>(path: string, work: () => Promise<T>): Promise<T> {
    return onLocal(this.#operation, path, work);
  }

  /** What the wire can carry: paths and targets of links are text there. */
  #textOf(bytes: Buffer, path: string): string {
    if (isUtf8(bytes)) return bytes.toString("utf8");
    throw this.#notText(bytes.toString("utf8"), path);
  }

  #notText(text: string, path: string): FileError {
    const shown = JSON.stringify(text);
    return new FileError("UNSUPPORTED", `${this.#operation} ${path}: ${shown} is not UTF-8`, { path });
  }
}

function foundOf(found: Stats): Found {
  const { size, mode } = found;
  return { kind: kindOf(found), size, mode: HAS_MODES ? mode : undefined };
}

function kindOf(found: Stats): TreeEntry["kind"] {
  if (found.isSymbolicLink()) return "link";
  if (found.isDirectory()) return "directory";
  return found.isFile() ? "file" : "other";
}
