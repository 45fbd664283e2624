import { randomId } from "../../base/random-id.ts";
import { BLOCK_BYTES } from "./file-blocks.ts";
import { aboutFile, FileError } from "./file-error.ts";
import type { WriteBlobOptions } from "./file-options.ts";
import { withRestarts } from "./restarts.ts";
import type { TreeAccess } from "./trees.ts";

/** Beginning of the names of files that are not complete yet. */
const PART = ".exec-server-part-";

/** Writes a Blob, which cannot change, so that it can be continued wherever the file on the server ends. */
export async function uploadBlob(
  access: TreeAccess,
  path: string,
  blob: Blob,
  options: WriteBlobOptions,
): Promise<void> {
  const upload = new BlobUpload(access, blob, options);
  const hasParts = ["fs/openPart", "fs/rename", "fs/chmod"].every((name) => access.supports(name));
  await (hasParts ? upload.beside(path) : upload.inPlace(path));
}

class BlobUpload {
  readonly #access: TreeAccess;
  readonly #blob: Blob;
  readonly #options: WriteBlobOptions;

  constructor(access: TreeAccess, blob: Blob, options: WriteBlobOptions) {
    this.#access = access;
    this.#blob = blob;
    this.#options = options;
  }

  async beside(path: string): Promise<void> {
    const { files } = this.#access;
    const { part: id = randomId() } = this.#options;
    let part = partBeside(path, id);
    try {
      const there = await this.#lookAt(path);
      const final = there?.isSymlink ? await files.realpath(path, request(this.#options)) : path;
      part = partBeside(final, id);
      if (there !== undefined && !(await this.#canMake(part))) return await this.inPlace(final);
      await this.#write(part, there !== undefined);
      const { signal } = this.#options;
      if (there?.mode !== undefined) await files.chmod(part, there.mode, request({ signal }));
      await this.#rename(part, final);
    } catch (error) {
      files.remove(part, { force: true }).catch(() => {}); // The session is gone. Another call can continue the part.
      throw aboutFile(error, part, path);
    }
  }

  /** False if only the file that is there may be written, not its directory. */
  async #canMake(part: string): Promise<boolean> {
    try {
      const offset = await this.#arrived(part);
      const options = { ...request(this.#options), offset, isPrivate: true };
      await withRestarts(() => this.#access.streams.continue(part, piecesFrom(new Blob([]), 0, {}), options));
      return true;
    } catch (error) {
      if (error instanceof FileError && error.code === "PERMISSION_DENIED") return false;
      throw error;
    }
  }

  /** From the beginning at each attempt. */
  async inPlace(path: string): Promise<void> {
    await withRestarts(async () => {
      const pieces = piecesFrom(this.#blob, 0, this.#options);
      await this.#access.files.writeStream(path, pieces, request(this.#options));
    });
  }

  /** Goes on after what has arrived, until everything has. */
  async #write(part: string, isPrivate: boolean): Promise<void> {
    const { streams } = this.#access;
    let farthest = -1;
    await withRestarts(async (progressed) => {
      const offset = await this.#arrived(part);
      if (offset > farthest) progressed();
      farthest = Math.max(farthest, offset);
      const pieces = piecesFrom(this.#blob, offset, this.#options);
      await streams.continue(part, pieces, { ...request(this.#options), offset, isPrivate });
    });
  }

  /** How much of the Blob is on the server. */
  async #arrived(part: string): Promise<number> {
    return Math.min((await this.#lookAt(part))?.size ?? 0, this.#blob.size);
  }

  async #rename(part: string, final: string): Promise<void> {
    let isFirst = true;
    await withRestarts(async () => {
      // If the answer to an earlier attempt was lost, the part may be in its place.
      if (!isFirst && (await this.#lookAt(part)) === undefined) return;
      isFirst = false;
      await this.#access.files.rename(part, final, request(this.#options));
    });
  }

  /** Undefined if there is nothing. */
  async #lookAt(
    path: string,
  ): Promise<{ size: number; mode?: number | undefined; isSymlink: boolean } | undefined> {
    try {
      const found = await this.#access.files.stat(path, request(this.#options));
      if (found.kind === "file") return found;
      throw new FileError("INVALID_INPUT", `write ${path}: not a regular file`, { path });
    } catch (error) {
      if (error instanceof FileError && error.code === "NOT_FOUND") return undefined;
      throw error;
    }
  }
}

function partBeside(path: string, id: string): string {
  return `${path.slice(0, path.lastIndexOf("/"))}/${PART}${id}`;
}

async function* piecesFrom(
  blob: Blob,
  offset: number,
  { onProgress }: WriteBlobOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  for (let position = offset; position < blob.size; position += BLOCK_BYTES) {
    const end = Math.min(position + BLOCK_BYTES, blob.size);
    yield new Uint8Array(await blob.slice(position, end).arrayBuffer());
    onProgress?.(end);
  }
}

function request({ signal }: { readonly signal?: AbortSignal | undefined }): { signal?: AbortSignal } {
  return signal === undefined ? {} : { signal };
}
