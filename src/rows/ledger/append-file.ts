import { writeSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { ExecError } from "../../base/errors.ts";
import { createDeferred, type Deferred } from "../../base/deferred.ts";

const MAX_PIECE = 1024 * 1024;

/** Appends to a file. Text added while the disk is busy is written together, with one flush. */
export class AppendFile {
  readonly #file: FileHandle;
  readonly #path: string;
  readonly #sync: boolean;
  /** Offset of the next text. */
  size: number;
  #pending: string[] = [];
  #next: Deferred<void> | undefined;
  #writing: Promise<void> | undefined;
  #failure: unknown;

  /** With `sync`, appended text survives a crash of the machine; without, only of the program. */
  constructor(
    file: FileHandle,
    { path, size, sync }: { readonly path: string; readonly size: number; readonly sync: boolean },
  ) {
    this.#file = file;
    this.#path = path;
    this.size = size;
    this.#sync = sync;
  }

  /** Resolves when the text is in the file. The owner limits how much is on its way. */
  append(text: string): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    this.size += Buffer.byteLength(text);
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
      const [texts, done] = [this.#pending, this.#next];
      this.#pending = [];
      this.#next = undefined;
      try {
        if (this.#failure !== undefined) throw this.#failure;
        // Synchronously: the system only copies the bytes, and a flush takes long enough.
        for (const piece of pieces(texts)) writeAll(this.#file.fd, Buffer.from(piece));
        if (this.#sync) await this.#file.datasync();
        done.resolve();
      } catch (error) {
        this.#failure ??= cannotWrite(this.#path, error);
        done.reject(this.#failure);
      }
    }
    this.#writing = undefined;
  }
}

/** An error of the system that says which file it is about; others stay as they are. */
export function cannotWrite(path: string, error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  // A signal's reason may be a DOMException, whose code is a number.
  if (error instanceof ExecError || typeof code !== "string") return error;
  return new ExecError("OS_ERROR", `cannot write ${path}: ${code}`, { cause: error });
}

/** Joins texts, but only so many that the whole does not need as much memory again. */
function* pieces(texts: readonly string[]): Generator<string> {
  let piece = "";
  for (const text of texts) {
    piece += text;
    if (piece.length < MAX_PIECE) continue;
    yield piece;
    piece = "";
  }
  yield piece;
}

function writeAll(fd: number, bytes: Buffer): void {
  for (let written = 0; written < bytes.length; ) written += writeSync(fd, bytes, written);
}
