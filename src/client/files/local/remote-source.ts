import { ProtocolError } from "../../../base/errors.ts";
import { type BorrowedBytes, borrowBytes } from "../../calls/wire-bytes.ts";
import { withFileError } from "../file-error.ts";
import { uriOf } from "../file-path.ts";
import type { TreeAccess } from "../trees.ts";
import { RemoteHashes } from "./remote-hashes.ts";
import type { EntryInfo, Hasher, Listed, Source, Version } from "./sides.ts";
import { joinRemote } from "./tree-copy.ts";

/** Files of a server to be copied. */
export class RemoteSource implements Source {
  readonly isRemote = true;
  readonly knowsLinks: boolean;
  readonly knowsModes: boolean;
  readonly hasher: Hasher | undefined;
  readonly #operation: string;
  readonly #access: TreeAccess;

  constructor(operation: string, access: TreeAccess) {
    this.#operation = operation;
    this.#access = access;
    this.knowsLinks = access.supports("fs/readLink");
    this.knowsModes = access.supports("fs/writeFile.mode") && access.supports("fs/chmod");
    this.hasher = RemoteHashes.of(access);
  }

  child(directory: string, name: string): string {
    return joinRemote(directory, name);
  }

  async start(path: string, signal: AbortSignal): Promise<{ path: string; info: EntryInfo }> {
    return { path, info: await this.follow(path, signal) };
  }

  /** With details if the server has them; otherwise each entry is requested separately. */
  async list(directory: string, signal: AbortSignal): Promise<Listed[]> {
    const { files, supports } = this.#access;
    const entries: Listed[] = supports("fs/readDirectory.detailed")
      ? (await files.listDetails(directory, { signal })).map(({ name, ...info }) => ({ name, info }))
      : (await files.list(directory, { signal })).map(({ name }) => ({ name }));
    const twice = entries.find(({ name }, index) => entries[index + 1]?.name === name);
    if (twice !== undefined)
      throw new ProtocolError(
        `${this.#operation} ${directory}: the server named ${JSON.stringify(twice.name)} twice`,
      );
    return entries;
  }

  async describe(path: string, { info }: Listed, signal: AbortSignal): Promise<EntryInfo> {
    if (info !== undefined) return info;
    const { kind, size, isSymlink } = await this.#access.files.stat(path, { signal });
    return { kind: isSymlink ? "link" : kind, size, mode: undefined };
  }

  async follow(path: string, signal: AbortSignal): Promise<EntryInfo> {
    const { kind, size, mode } = await this.#access.files.stat(path, { signal });
    return { kind, size, mode };
  }

  identify(directory: string, signal: AbortSignal): Promise<string> {
    return this.#access.files.realpath(directory, { signal });
  }

  readLink(path: string, signal: AbortSignal): Promise<string> {
    return this.#access.files.readLink(path, { signal });
  }

  async readSmall(path: string, _size: number, signal: AbortSignal): Promise<BorrowedBytes> {
    const answer = this.#access.caller.request("fs/readFile", { path: uriOf(path) }, { signal });
    const { dataBase64 } = await withFileError(this.#operation, path, answer);
    return borrowBytes(dataBase64, "the answer to fs/readFile");
  }

  async version(path: string, signal: AbortSignal): Promise<Version> {
    const { size, modified } = await this.#access.files.stat(path, { signal });
    return { size, modifiedMs: modified.getTime() };
  }

  blocks(path: string, offset: number, signal: AbortSignal): AsyncIterable<Uint8Array> {
    return this.#access.streams.read(path, { offset, signal, isOwned: false });
  }
}
