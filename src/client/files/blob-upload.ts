import { randomId } from "../../base/random-id.ts";
import { BLOCK_BYTES } from "./file-blocks.ts";
import { aboutFile, FileError, fileError, ifPresent } from "./file-error.ts";
import type { WriteBlobOptions } from "./file-options.ts";
import type { FileStat } from "./file-stat.ts";
import { renameOnce, withRestarts } from "./restarts.ts";
import type { TreeAccess } from "./trees.ts";

/** Beginning of the names of files that are not complete yet, and can be continued. */
export const PART = ".exec-server-part-";

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
      const existing = await this.#statFile(path);
      const final = existing?.isSymlink ? await files.realpath(path, this.#options) : path;
      part = partBeside(final, id);
      if (existing !== undefined && !(await this.#canMake(part))) return await this.inPlace(final);
      await this.#write(part, existing !== undefined);
      if (existing?.mode !== undefined) await files.chmod(part, existing.mode, this.#options);
      const isGone = async (): Promise<boolean> => (await this.#statFile(part)) === undefined;
      await renameOnce(isGone, () => files.rename(part, final, this.#options));
    } catch (error) {
      files.remove(part, { force: true }).catch(() => {}); // The session is gone. Another call can continue the part.
      throw aboutFile(error, part, path);
    }
  }

  /** False if only the file that is there may be written, not its directory. */
  async #canMake(part: string): Promise<boolean> {
    try {
      const offset = await this.#arrived(part);
      const options = { ...this.#options, offset, isPrivate: true };
      await withRestarts(() => this.#access.streams.continue(part, piecesFrom(new Blob([]), 0, {}), options));
      return true;
    } catch (error) {
      if (error instanceof FileError && error.code === "PERMISSION_DENIED") return false;
      throw error;
    }
  }

  /** Starts from the beginning at each attempt. */
  async inPlace(path: string): Promise<void> {
    await withRestarts(async () => {
      const pieces = piecesFrom(this.#blob, 0, this.#options);
      await this.#access.files.writeStream(path, pieces, this.#options);
    });
  }

  /** Continues after what has arrived, until everything has. */
  async #write(part: string, isPrivate: boolean): Promise<void> {
    const { streams } = this.#access;
    let farthest = -1;
    await withRestarts(async (progressed) => {
      const offset = await this.#arrived(part);
      if (offset > farthest) progressed();
      farthest = Math.max(farthest, offset);
      const pieces = piecesFrom(this.#blob, offset, this.#options);
      await streams.continue(part, pieces, { ...this.#options, offset, isPrivate });
    });
  }

  /** Number of the Blob's bytes that are on the server. */
  async #arrived(part: string): Promise<number> {
    return Math.min((await this.#statFile(part))?.size ?? 0, this.#blob.size);
  }

  /** Undefined if the path does not exist. */
  async #statFile(path: string): Promise<FileStat | undefined> {
    const stat = await ifPresent(this.#access.files.stat(path, this.#options));
    if (stat === undefined || stat.kind === "file") return stat;
    throw fileError("INVALID_INPUT", "write", path, "not a regular file");
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
