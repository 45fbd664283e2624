import { writeSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { createDeferred, type Deferred } from "../../base/deferred.ts";

/** Appends to a file. What is added while the disk is busy is written together, with one flush. */
export class AppendFile {
  readonly #file: FileHandle;
  readonly #sync: boolean;
  #size: number;
  #pending: string[] = [];
  #next: Deferred<void> | undefined;
  #writing: Promise<void> | undefined;
  #failure: unknown;

  /** With `sync`, what is appended survives the machine's end; without, only the program's. */
  constructor(file: FileHandle, { size, sync }: { readonly size: number; readonly sync: boolean }) {
    this.#file = file;
    this.#size = size;
    this.#sync = sync;
  }

  /** Where the next text begins. */
  get size(): number {
    return this.#size;
  }

  /** Resolves when the text is in the file. The owner limits how much is on its way. */
  append(text: string): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    this.#size += Buffer.byteLength(text);
    this.#pending.push(text);
    const next = (this.#next ??= createDeferred<void>());
    this.#writing ??= this.#write();
    return next.promise;
  }

  async close(): Promise<void> {
    await this.#writing;
    await this.#file.close();
  }

  async #write(): Promise<void> {
    // One turn later, so that texts of the same turn share a flush.
    await new Promise(setImmediate);
    while (this.#next !== undefined) {
      const [text, done] = [this.#pending.join(""), this.#next];
      this.#pending = [];
      this.#next = undefined;
      try {
        if (this.#failure !== undefined) throw this.#failure;
        // Without another thread: the system only takes the bytes over, and a flush takes long enough.
        writeAll(this.#file.fd, Buffer.from(text));
        if (this.#sync) await this.#file.datasync();
        done.resolve();
      } catch (error) {
        this.#failure ??= error;
        done.reject(error);
      }
    }
    this.#writing = undefined;
  }
}

function writeAll(fd: number, bytes: Buffer): void {
  for (let written = 0; written < bytes.length; ) written += writeSync(fd, bytes, written);
}
