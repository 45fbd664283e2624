import { joinBytes } from "../../base/join-bytes.ts";
import type { Caller, RequestOptions } from "../calls/caller.ts";
import { MAX_BYTES_IN_MESSAGE } from "../calls/wire-bytes.ts";
import {
  closeHandle,
  type FileHandle,
  openHandle,
  type OpenMode,
  piecesOf,
  readBlocks,
  writeBlocks,
} from "./file-blocks.ts";
import { type FileError, fileError, toFileError, withFileError } from "./file-error.ts";
import { uriOf } from "./file-path.ts";
import type { FileStat } from "./file-stat.ts";
import { isCut, MAX_RESTARTS } from "./restarts.ts";

/** Set-user-ID and set-group-ID, which systems clear when a file is written. */
const SET_ID_BITS = 0o6000;

/** Counts opened files. Several streams, such as those within a sandbox, share a connection and its ids. */
let handles = 0;

/** Files that are open on the server while they are read or written. */
export class FileStreams {
  readonly #caller: Caller;
  #canWrite: boolean | undefined;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** With `isOwned: false`, a block is a part of a message, whose memory is reused once the next one is requested. */
  async *read(
    path: string,
    options: RequestOptions & {
      readonly offset: number;
      readonly length?: number;
      readonly isOwned?: boolean;
    },
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const { isOwned = true } = options;
    const handle = await this.#open(path, "read", options);
    try {
      yield* readBlocks(this.#caller, handle, { ...options, isOwned });
    } catch (error) {
      throw toFileError(error, "read", path);
    } finally {
      closeHandle(this.#caller, handle);
    }
  }

  /** Reads a file to its end over as many connections as needed. */
  async *readResumed(
    path: string,
    stat: () => Promise<FileStat>,
    {
      offset,
      length = Infinity,
      ...request
    }: RequestOptions & { readonly offset: number; readonly length?: number },
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const before = await stat();
    const end = offset + length;
    let position = offset;
    for (let restarts = 0; ; restarts += 1) {
      try {
        if (restarts > 0 && !isSameVersion(before, await stat())) throw changed(path);
        for await (const block of this.read(path, { ...request, offset: position, length: end - position })) {
          yield block;
          position += block.length;
          restarts = 0;
        }
        break;
      } catch (error) {
        if (!isCut(error) || restarts >= MAX_RESTARTS) throw error;
      }
    }
    if (position < Math.min(before.size, end)) throw changed(path);
  }

  /** Whether the server supports writing in blocks. Checked once, because it does not change. */
  async canWrite(options: RequestOptions): Promise<boolean> {
    if (this.#canWrite === undefined) {
      const info = await this.#caller.request("environment/info", {}, options);
      this.#canWrite = info.capabilities?.fileWriteStreaming ?? false;
    }
    return this.#canWrite;
  }

  async write(
    path: string,
    source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    { mode, ...request }: RequestOptions & { readonly mode?: number },
  ): Promise<number> {
    return this.#writing(path, "replace", request, async (handle) => {
      if (mode !== undefined) await this.#chmod(path, mode, request);
      const pieces = piecesOf(source, request);
      const length = await writeBlocks(this.#caller, handle, pieces, { ...request, start: 0 });
      if (mode !== undefined && (mode & SET_ID_BITS) !== 0) await this.#chmod(path, mode, request);
      return length;
    });
  }

  /** Keeps the first `offset` bytes of a file, which may be missing if that is 0, and writes the rest after them. */
  async continue(
    path: string,
    source: AsyncIterable<Uint8Array>,
    {
      offset,
      isPrivate,
      ...request
    }: RequestOptions & { readonly offset: number; readonly isPrivate: boolean },
  ): Promise<void> {
    await this.#writing(path, { keep: offset, isPrivate }, request, (handle) =>
      writeBlocks(this.#caller, handle, piecesOf(source, request), { ...request, start: offset }),
    );
  }

  async #writing<T>(
    path: string,
    mode: OpenMode,
    options: RequestOptions,
    write: (handle: FileHandle) => Promise<T>,
  ): Promise<T> {
    const handle = await this.#open(path, mode, options);
    try {
      return await withFileError("write", path, write(handle));
    } finally {
      closeHandle(this.#caller, handle);
    }
  }

  async #chmod(path: string, mode: number, options: RequestOptions): Promise<void> {
    await this.#caller.request("fs/chmod", { path: uriOf(path), mode }, options);
  }

  async #open(path: string, mode: OpenMode, options: RequestOptions): Promise<FileHandle> {
    handles += 1;
    const handle = { id: `files-${handles}`, path, uri: uriOf(path), mode };
    const operation = mode === "read" ? "read" : "write";
    await withFileError(operation, path, openHandle(this.#caller, handle, options));
    return handle;
  }
}

/** Collects all pieces of a source, for a server that only accepts a file in one message. */
export async function collectForMessage(
  path: string,
  source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  options: RequestOptions,
): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of piecesOf(source, options)) {
    length += piece.length;
    if (length > MAX_BYTES_IN_MESSAGE)
      throw fileError(
        "UNSUPPORTED",
        "write",
        path,
        `this server takes at most ${MAX_BYTES_IN_MESSAGE} bytes for one file`,
      );
    pieces.push(piece.slice());
  }
  return joinBytes(pieces);
}

/** Collects a whole stream. */
export async function concatenate(
  source: AsyncIterable<Uint8Array>,
  path: string,
  maxBytes: number,
): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of source) {
    length += piece.length;
    if (length > maxBytes) throw tooLarge(path, maxBytes);
    pieces.push(piece);
  }
  return joinBytes(pieces);
}

export function tooLarge(path: string, maxBytes: number): FileError {
  return fileError("INVALID_INPUT", "read", path, `it is larger than ${maxBytes} bytes; read it as a stream`);
}

function isSameVersion(before: FileStat, now: FileStat): boolean {
  return now.size === before.size && now.modified.getTime() === before.modified.getTime();
}

function changed(path: string): FileError {
  return fileError("OS_ERROR", "read", path, "it changed while it was being read");
}
