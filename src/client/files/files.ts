import { encodeBase64 } from "../../base/base64.ts";
import { ProtocolError } from "../../base/errors.ts";
import type { MethodName, Params, Result } from "../../protocol/index.ts";
import type { FileChanges, FileWatches, WatchOptions } from "./file-watches.ts";
import { unsupported } from "../session/unsupported.ts";
import type { Caller, RequestOptions } from "../session/caller.ts";
import {
  BLOCK_BYTES,
  closeHandle,
  type FileHandle,
  openHandle,
  piecesOf,
  readBlocks,
  writeBlocks,
} from "./file-blocks.ts";
import { FileError, toFileError } from "./file-error.ts";
import { type DirectoryEntry, type FileStat, kindOf, statOf } from "./file-stat.ts";
import { isName, pathOf, pathWithin, uriOf } from "./file-path.ts";
import { decodeBytes, MAX_BYTES_IN_MESSAGE } from "../session/wire-bytes.ts";

/** Read with one request. Larger files come in blocks, between which other answers pass. */
const MAX_SINGLE_READ_BYTES = 4 * BLOCK_BYTES;
const MAX_WHOLE_FILE_BYTES = 512 * 1024 * 1024;

/** How a file is read. */
export interface ReadOptions extends RequestOptions {
  /** A larger file is refused; 512 MiB when absent. */
  readonly maxBytes?: number;
}

/** How a directory is made. */
export interface MakeDirectoryOptions extends RequestOptions {
  /** True when absent: makes parents too, and a directory that exists is no error. */
  readonly recursive?: boolean;
}

/** What may be removed. */
export interface RemoveOptions extends RequestOptions {
  /** Removes a directory with all that is in it. False when absent. */
  readonly recursive?: boolean;
  /** A missing path is no error. False when absent. */
  readonly force?: boolean;
}

/** What is copied. */
export interface CopyOptions extends RequestOptions {
  /** Needed for a directory. False when absent. */
  readonly recursive?: boolean;
}

/** How far a walk goes. */
export interface WalkOptions extends RequestOptions {
  /** 0 lists only what is directly below; 64, the most, when absent. */
  readonly maxDepth?: number;
  /** 10 000, the most, when absent. */
  readonly maxDirectories?: number;
  /** Counts every name looked at; 50 000, the most, when absent. */
  readonly maxEntries?: number;
  /** Enters linked directories, each real directory once. False when absent. */
  readonly followDirectorySymlinks?: boolean;
  /** Lists directories with a leading dot, but does not enter them. False when absent. */
  readonly pruneHiddenDirectories?: boolean;
}

/** What a walk has found. */
export interface WalkResult {
  /** Level by level, names in order; without special files and links to files. */
  readonly entries: readonly { readonly path: string; readonly kind: "file" | "directory" }[];
  /** What could not be read, and names that are not UTF-8. */
  readonly errors: readonly { readonly path: string; readonly message: string }[];
  /** A limit ended the walk early. */
  readonly truncated: boolean;
}

/**
 * The files of the server's machine. Paths are absolute and plain, such as `/etc/hosts`; `..` is resolved by its text, before any link is followed. What the
 * server refuses rejects with a `FileError`, a path that is not absolute with a `UsageError` before anything is sent.
 */
export class Files {
  readonly #caller: Caller;
  readonly #watches: FileWatches | undefined;
  #handles = 0;
  #canStreamWrites: boolean | undefined;

  constructor(caller: Caller, watches?: FileWatches) {
    this.#caller = caller;
    this.#watches = watches;
  }

  /** Reads a regular file whole, of any size up to `maxBytes`. */
  async read(path: string, options: ReadOptions = {}): Promise<Uint8Array> {
    const uri = uriOf(path);
    const maxBytes = options.maxBytes ?? MAX_WHOLE_FILE_BYTES;
    const request = pick(options);
    const { isFile, size } = await this.#ask("read", path, "fs/getMetadata", { path: uri }, request);
    if (isFile && size > maxBytes) throw tooLarge(path, maxBytes);
    if (size > MAX_SINGLE_READ_BYTES) return concatenate(this.readStream(path, request), path, maxBytes);
    const { dataBase64 } = await this.#ask("read", path, "fs/readFile", { path: uri }, request);
    const bytes = decodeBytes(dataBase64, "the answer of fs/readFile");
    if (bytes.length > maxBytes) throw tooLarge(path, maxBytes);
    return bytes;
  }

  /** Reads a regular file as UTF-8; what is not UTF-8 becomes U+FFFD. */
  async readText(path: string, options: ReadOptions = {}): Promise<string> {
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(await this.read(path, options));
  }

  /** Creates or replaces a file; its directory must exist. Text is written as UTF-8. Too much for one message, 47 MiB, is written like a stream. */
  async write(path: string, data: string | Uint8Array, options: RequestOptions = {}): Promise<void> {
    const uri = uriOf(path);
    const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
    if (bytes.length > MAX_BYTES_IN_MESSAGE) await this.writeStream(path, [bytes], options);
    else
      await this.#ask(
        "write",
        path,
        "fs/writeFile",
        { path: uri, dataBase64: encodeBase64(bytes) },
        pick(options),
      );
  }

  /** Lists a directory, sorted by name, without broken links. */
  async list(path: string, options: RequestOptions = {}): Promise<DirectoryEntry[]> {
    const { entries } = await this.#ask(
      "list",
      path,
      "fs/readDirectory",
      { path: uriOf(path) },
      pick(options),
    );
    // A name that leads elsewhere would take whoever copies the tree with it.
    const wrong = entries.find(({ fileName }) => !isName(fileName));
    if (wrong !== undefined)
      throw new ProtocolError(`list ${path}: ${JSON.stringify(wrong.fileName.slice(0, 200))} is no name`);
    return entries
      .map((entry) => ({ name: entry.fileName, kind: kindOf(entry) }))
      .sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  async stat(path: string, options: RequestOptions = {}): Promise<FileStat> {
    const found = await this.#ask("stat", path, "fs/getMetadata", { path: uriOf(path) }, pick(options));
    return statOf(found);
  }

  /** False also for a broken link. Rejects when the server may not look. */
  async exists(path: string, options: RequestOptions = {}): Promise<boolean> {
    try {
      await this.stat(path, options);
      return true;
    } catch (error) {
      if (error instanceof FileError && (error.code === "NOT_FOUND" || error.errno === "ENOTDIR"))
        return false;
      throw error;
    }
  }

  async mkdir(path: string, options: MakeDirectoryOptions = {}): Promise<void> {
    const params = { path: uriOf(path), recursive: options.recursive ?? true };
    await this.#ask("mkdir", path, "fs/createDirectory", params, pick(options));
  }

  /** Removes a file, a link (never what it points to) or an empty directory; more with `recursive`. */
  async remove(path: string, options: RemoveOptions = {}): Promise<void> {
    const { recursive = false, force = false } = options;
    await this.#ask("remove", path, "fs/remove", { path: uriOf(path), recursive, force }, pick(options));
  }

  /** Moves a file, a link or a directory; a file at the new place is replaced. Needs a server that announces `fs/rename`. */
  async rename(from: string, to: string, options: RequestOptions = {}): Promise<void> {
    await this.#ask("rename", from, "fs/rename", { from: uriOf(from), to: uriOf(to) }, pick(options));
  }

  /**
   * Tells of what comes, goes or changes at a file or in a directory, from the moment the promise resolves until the loop is left, the signal is aborted
   * or what is watched is gone. Needs a server that announces `fs/watch`.
   */
  async watch(path: string, options: WatchOptions = {}): Promise<AsyncIterableIterator<FileChanges>> {
    const uri = uriOf(path);
    if (this.#watches === undefined) throw unsupported("fs/watch");
    return this.#watches.open(uri, options);
  }

  /** Copies a file, a link or a directory on the server's machine; existing files are replaced, existing directories merged. */
  async copy(from: string, to: string, options: CopyOptions = {}): Promise<void> {
    const params = {
      sourcePath: uriOf(from),
      destinationPath: uriOf(to),
      recursive: options.recursive ?? false,
    };
    await this.#ask("copy", from, "fs/copy", params, pick(options));
  }

  /** Resolves every symbolic link of a path that exists. */
  async realpath(path: string, options: RequestOptions = {}): Promise<string> {
    const found = await this.#ask("realpath", path, "fs/canonicalize", { path: uriOf(path) }, pick(options));
    const real = pathOf(found.path);
    if (!real.exact)
      throw new FileError("UNSUPPORTED", `realpath ${path}: ${real.path} is not UTF-8`, { path });
    return real.path;
  }

  /** Lists what is below a directory, without the directory itself. */
  async walk(path: string, options: WalkOptions = {}): Promise<WalkResult> {
    const params = {
      path: uriOf(path),
      options: {
        maxDepth: options.maxDepth ?? 64,
        maxDirectories: options.maxDirectories ?? 10_000,
        maxEntries: options.maxEntries ?? 50_000,
        followDirectorySymlinks: options.followDirectorySymlinks ?? false,
        pruneHiddenDirectories: options.pruneHiddenDirectories ?? false,
      },
    };
    const found = await this.#ask("walk", path, "fs/walk", params, pick(options));
    if (found.entries.length > params.options.maxEntries)
      throw new ProtocolError(`walk ${path}: ${found.entries.length} entries came, more than were asked for`);
    const root = pathOf(params.path).path;
    const entries = found.entries.map(({ path: uri, kind }) => ({ ...pathWithin(root, uri), kind }));
    if (entries.some((entry) => entry.path === root))
      throw new ProtocolError(`walk ${path}: the directory itself is among what is below it`);
    const unnamed = entries.filter(({ exact }) => !exact);
    return {
      entries: entries.filter(({ exact }) => exact).map(({ path, kind }) => ({ path, kind })),
      errors: [
        ...found.errors.map(({ path: uri, message }) => ({ path: pathWithin(root, uri).path, message })),
        ...unnamed.map(({ path }) => ({ path, message: "the name is not UTF-8" })),
      ],
      truncated: found.truncated,
    };
  }

  /** Reads a regular file of any size, up to 5 MiB ahead of its consumer. It is opened by the first step of a loop, and closed when the loop is left. */
  readStream(path: string, options: RequestOptions = {}): AsyncGenerator<Uint8Array, void, undefined> {
    uriOf(path);
    return this.#readStream(path, pick(options));
  }

  async *#readStream(path: string, options: RequestOptions): AsyncGenerator<Uint8Array, void, undefined> {
    const handle = await this.#open(path, "read", options);
    try {
      yield* readBlocks(this.#caller, handle, options);
    } catch (error) {
      throw toFileError(error, "read", path);
    } finally {
      closeHandle(this.#caller, handle);
    }
  }

  /**
   * Creates or empties a file, then writes the pieces as they come; returns how many bytes that were. The file is written in place: a failure leaves what was
   * written so far. A server that cannot do this (capability `fileWriteStreaming`) gets the pieces in one message, up to 47 MiB.
   */
  async writeStream(
    path: string,
    source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    options: RequestOptions = {},
  ): Promise<number> {
    uriOf(path);
    const request = pick(options);
    if (!(await this.#serverStreamsWrites(request))) return this.#writeCollected(path, source, request);
    const handle = await this.#open(path, "replace", request);
    try {
      return await writeBlocks(this.#caller, handle, piecesOf(source, request), request);
    } catch (error) {
      throw toFileError(error, "write", path);
    } finally {
      closeHandle(this.#caller, handle);
    }
  }

  async #writeCollected(
    path: string,
    source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    options: RequestOptions,
  ): Promise<number> {
    const pieces: Uint8Array[] = [];
    let length = 0;
    for await (const piece of piecesOf(source, options)) {
      length += piece.length;
      if (length > MAX_BYTES_IN_MESSAGE)
        throw new FileError(
          "UNSUPPORTED",
          `write ${path}: this server takes at most ${MAX_BYTES_IN_MESSAGE} bytes for one file`,
          { path },
        );
      pieces.push(piece.slice());
    }
    await this.write(path, joined(pieces, length), options);
    return length;
  }

  /** Asked once: what a server can do does not change. */
  async #serverStreamsWrites(options: RequestOptions): Promise<boolean> {
    if (this.#canStreamWrites === undefined) {
      const info = await this.#caller.request("environment/info", {}, options);
      this.#canStreamWrites = info.capabilities?.fileWriteStreaming ?? false;
    }
    return this.#canStreamWrites;
  }

  async #open(path: string, mode: "read" | "replace", options: RequestOptions): Promise<FileHandle> {
    const uri = uriOf(path);
    this.#handles += 1;
    const handle = { id: `files-${this.#handles}`, path, uri, mode };
    try {
      await openHandle(this.#caller, handle, options);
    } catch (error) {
      throw toFileError(error, mode === "read" ? "read" : "write", path);
    }
    return handle;
  }

  async #ask<M extends MethodName>(
    operation: string,
    path: string,
    method: M,
    params: Params<M>,
    options: RequestOptions,
  ): Promise<Result<M>> {
    try {
      return await this.#caller.request(method, params, options);
    } catch (error) {
      throw toFileError(error, operation, path);
    }
  }
}

/** The part of a method's options that a request takes. */
function pick({ signal }: RequestOptions): RequestOptions {
  return signal === undefined ? {} : { signal };
}

async function concatenate(
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
  return joined(pieces, length);
}

function joined(pieces: readonly Uint8Array[], length: number): Uint8Array {
  const whole = new Uint8Array(length);
  let offset = 0;
  for (const piece of pieces) {
    whole.set(piece, offset);
    offset += piece.length;
  }
  return whole;
}

function tooLarge(path: string, maxBytes: number): FileError {
  return new FileError(
    "INVALID_INPUT",
    `read ${path}: it is larger than ${maxBytes} bytes; read it as a stream`,
    {
      path,
    },
  );
}
