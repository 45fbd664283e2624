import { posix } from "node:path";
import { ProtocolError } from "../../../base/errors.ts";
import { toFileError, withFileError } from "../file-error.ts";
import { uriOf } from "../file-path.ts";
import type { TreeAccess } from "../trees.ts";
import type { Hasher, HashRange } from "./sides.ts";

/** Maximum number of names in one request. */
const MAX_NAMES = 128;

interface HashRequest {
  readonly name: string;
  readonly resolve: (hash: string | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** Hashes of files on a server. Small files of one directory that are requested at the same time share a request. */
export class RemoteHashes implements Hasher {
  readonly #access: TreeAccess;
  readonly #waiting = new Map<string, HashRequest[]>();

  /** Undefined if the server cannot compute hashes. */
  static of(access: TreeAccess): RemoteHashes | undefined {
    return access.supports("fs/hash") ? new RemoteHashes(access) : undefined;
  }

  private constructor(access: TreeAccess) {
    this.#access = access;
  }

  async hash(path: string, range: HashRange | undefined, signal: AbortSignal): Promise<string | undefined> {
    if (range === undefined) return this.#inBatch(path, signal);
    const params = { path: uriOf(path), ...range };
    const answer = this.#access.caller.request("fs/hash", params, { signal });
    const [hash] = (await withFileError("hash", path, answer)).hashes;
    // A shorter file does not contain the range.
    return hash?.bytes === range.length ? hash.sha256 : undefined;
  }

  #inBatch(path: string, signal: AbortSignal): Promise<string | undefined> {
    const directory = posix.dirname(path);
    const name = posix.basename(path);
    return new Promise((resolve, reject) => {
      const asked = this.#waiting.get(directory);
      if (asked !== undefined && asked.length < MAX_NAMES) {
        asked.push({ name, resolve, reject });
        return;
      }
      const batch = [{ name, resolve, reject }];
      this.#waiting.set(directory, batch);
      // Later than everything that is ready to ask now.
      setImmediate(() => {
        if (this.#waiting.get(directory) === batch) this.#waiting.delete(directory);
        void this.#ask(directory, batch, signal);
      });
    });
  }

  async #ask(directory: string, batch: readonly HashRequest[], signal: AbortSignal): Promise<void> {
    try {
      const names = batch.map(({ name }) => name);
      const params = { path: uriOf(directory), names };
      const { hashes } = await this.#access.caller.request("fs/hash", params, { signal });
      if (hashes.length !== batch.length)
        throw new ProtocolError(`fs/hash ${directory}: ${hashes.length} hashes for ${batch.length} names`);
      for (const [index, { resolve }] of batch.entries()) resolve(hashes[index]!.sha256);
    } catch (error) {
      for (const { reject } of batch) reject(toFileError(error, "hash", directory));
    }
  }
}
