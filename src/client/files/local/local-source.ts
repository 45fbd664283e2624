import { isUtf8 } from "node:buffer";
import type { Stats } from "node:fs";
import { lstat, readlink, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import type { BorrowedBytes } from "../../calls/wire-bytes.ts";
import { BLOCK_BYTES } from "../file-blocks.ts";
import { type FileError, fileError } from "../file-error.ts";
import { listDirectory, openToRead } from "./in-place.ts";
import { onLocal } from "./local-error.ts";
import { hashFile, kindOf } from "./local-file.ts";
import type { EntryInfo, Hasher, Listed, Source, Version } from "./sides.ts";

/** Windows has no such permissions. */
const HAS_MODES = process.platform !== "win32";

/** Files of this machine to be copied. Nothing is read through a link unless links are followed. */
export class LocalSource implements Source {
  readonly isRemote = false;
  readonly knowsLinks = true;
  readonly knowsModes = HAS_MODES;
  readonly hasher: Hasher = {
    hash: (path, range) => this.#on(path, () => hashFile(path, range, this.#reading)),
  };
  readonly #operation: string;
  readonly #reading: { readonly follow: boolean };

  constructor(operation: string, reading: { follow: boolean }) {
    this.#operation = operation;
    this.#reading = reading;
  }

  child(directory: string, name: string): string {
    return join(directory, name);
  }

  async start(path: string): Promise<{ path: string; info: EntryInfo }> {
    const info = infoOf(await this.#on(path, () => stat(path)));
    return { path: await this.#on(path, () => realpath(path)), info };
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

  async describe(path: string, { refused }: Listed): Promise<EntryInfo> {
    if (refused !== undefined) throw refused;
    return infoOf(await this.#on(path, () => lstat(path)));
  }

  async follow(path: string): Promise<EntryInfo> {
    return infoOf(await this.#on(path, () => stat(path)));
  }

  async identify(directory: string): Promise<string> {
    const { dev, ino } = await this.#on(directory, () => stat(directory));
    return `${dev}:${ino}`;
  }

  async readLink(path: string): Promise<string> {
    return this.#textOf(await this.#on(path, () => readlink(path, { encoding: "buffer" })), path);
  }

  async readSmall(path: string, size: number): Promise<BorrowedBytes | undefined> {
    return this.#on(path, async () => {
      await using file = await openToRead(path, this.#reading);
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
    await using file = await this.#on(path, () => openToRead(path, this.#reading));
    const block = new Uint8Array(BLOCK_BYTES);
    for (let position = offset; ; ) {
      const { bytesRead } = await this.#on(path, () => file.read(block, 0, block.length, position));
      if (bytesRead === 0) return;
      position += bytesRead;
      yield block.subarray(0, bytesRead);
    }
  }

  #on<T>(path: string, work: () => Promise<T>): Promise<T> {
    return onLocal(this.#operation, path, work);
  }

  /** The wire carries paths and link targets as text. */
  #textOf(bytes: Buffer, path: string): string {
    if (isUtf8(bytes)) return bytes.toString("utf8");
    throw this.#notText(bytes.toString("utf8"), path);
  }

  #notText(text: string, path: string): FileError {
    return fileError("UNSUPPORTED", this.#operation, path, `${JSON.stringify(text)} is not UTF-8`);
  }
}

function infoOf(info: Stats): EntryInfo {
  const { size, mode } = info;
  return { kind: kindOf(info), size, mode: HAS_MODES ? mode : undefined };
}
