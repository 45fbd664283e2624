import { encodeBase64 } from "../../base/base64.ts";
import { ExecError, ProtocolError, UsageError } from "../../base/errors.ts";
import { checkText } from "../../base/system-text.ts";
import type { MethodName, Params, Result } from "../../protocol/index.ts";
import type { FileChanges, FileWatches, WatchOptions } from "./file-watches.ts";
import { unsupported } from "../session/unsupported.ts";
import type { Caller, RequestOptions } from "../session/caller.ts";
import { BLOCK_BYTES } from "./file-blocks.ts";
import { FileError, toFileError } from "./file-error.ts";
import { checkMode } from "./file-mode.ts";
import {
  type DetailedEntry,
  detailsOf,
  type DirectoryEntry,
  type FileStat,
  kindOf,
  statOf,
} from "./file-stat.ts";
import { collectForMessage, concatenate, FileStreams, tooLarge } from "./file-streams.ts";
import { isName, pathOf, pathWithin, uriOf } from "./file-path.ts";
import type { LocalTrees, TreeAccess, TreeOptions, TreeResult } from "./trees.ts";
import { decodeBytes, MAX_BYTES_IN_MESSAGE } from "../session/wire-bytes.ts";

/** Read with one request. Larger files come in blocks, between which other answers pass. */
const MAX_SINGLE_READ_BYTES = 4 * BLOCK_BYTES;
const MAX_WHOLE_FILE_BYTES = 512 * 1024 * 1024;

/** How a file is read. */
export interface ReadOptions extends RequestOptions {
  /** A larger file is refused; 512 MiB when absent. */
  readonly maxBytes?: number;
}

/** How a file is read as a stream. */
export interface ReadStreamOptions extends RequestOptions {
  /** Where to begin, in bytes. Default: 0. */
  readonly offset?: number;
}

/** How a file is written. */
export interface WriteOptions extends RequestOptions {
  /**
   * Permissions of the file, such as `0o600`, whatever the server's umask. It has them before the first byte is in it. Needs a server that announces `fs/writeFile.mode`
   * and `fs/chmod`. By default a new file gets what the server's umask leaves, and an existing one keeps its own.
   */
  readonly mode?: number;
}

/** How a link is created. */
export interface SymlinkOptions extends RequestOptions {
  /** Puts the link in the place of a file or another link, in one step. Default: false. */
  readonly replace?: boolean;
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

/** What a session offers beside requests. */
interface FilesMeans {
  readonly watches?: FileWatches | undefined;
  /** Tells whether the server announces an extension. Nothing by default. */
  readonly supports?: (extension: string) => boolean;
  /** Copies between machines, where this one has files. */
  readonly trees?: LocalTrees | undefined;
}

/**
 * The files of the server's machine. Paths are absolute and plain, such as `/etc/hosts`; `..` is resolved by its text, before any link is followed. What the
 * server refuses rejects with a `FileError`, a path that is not absolute with a `UsageError` before anything is sent.
 */
export class Files {
  readonly #caller: Caller;
  readonly #watches: FileWatches | undefined;
  readonly #supports: (extension: string) => boolean;
  readonly #streams: FileStreams;
  readonly #trees: LocalTrees | undefined;

  constructor(caller: Caller, { watches, supports = () => false, trees }: FilesMeans = {}) {
    this.#caller = caller;
    this.#watches = watches;
    this.#supports = supports;
    this.#streams = new FileStreams(caller);
    this.#trees = trees;
  }

  /**
   * Copies a directory of this machine, with all that is in it, to the server's; Node only. The directory at `path` is made if need be, parents too. What is there is merged
   * with it as by `cp -r`: files are replaced, other entries stay, and links on the server's side are followed.
   */
  async uploadTree(localDirectory: string, path: string, options: TreeOptions = {}): Promise<TreeResult> {
    uriOf(path);
    return this.#localTrees("uploadTree").upload(this.#treeAccess(), localDirectory, path, options);
  }

  /**
   * Copies a directory of the server's machine, with all that is in it, to this one; Node only. The directory on this side is made if need be, parents too. What is there is
   * merged with it: files and links are replaced, other entries stay. Nothing is written outside of it: a link in the place of a directory is an error.
   */
  async downloadTree(path: string, localDirectory: string, options: TreeOptions = {}): Promise<TreeResult> {
    uriOf(path);
    return this.#localTrees("downloadTree").download(this.#treeAccess(), path, localDirectory, options);
  }

  #localTrees(operation: string): LocalTrees {
    if (this.#trees !== undefined) return this.#trees;
    throw new ExecError("UNSUPPORTED", `${operation} needs files of this machine, which only Node has`);
  }

  #treeAccess(): TreeAccess {
    return { files: this, caller: this.#caller, supports: this.#supports };
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
  async write(path: string, data: string | Uint8Array, options: WriteOptions = {}): Promise<void> {
    const uri = uriOf(path);
    const mode = this.#modeFor("fs/writeFile.mode", options);
    const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
    if (bytes.length > MAX_BYTES_IN_MESSAGE) {
      await this.writeStream(path, [bytes], options);
      return;
    }
    const params = { path: uri, dataBase64: encodeBase64(bytes), ...mode };
    await this.#ask("write", path, "fs/writeFile", params, pick(options));
  }

  /** Sets the permissions of what a path leads to. Needs a server that announces `fs/chmod`. */
  async chmod(path: string, mode: number, options: RequestOptions = {}): Promise<void> {
    const uri = uriOf(path);
    checkMode(mode);
    await this.#ask("chmod", path, "fs/chmod", { path: uri, mode }, pick(options));
  }

  /**
   * Creates a symbolic link at `path`. Its target is any text, taken as a path from where the link is, and need not exist. Needs a server that announces
   * `fs/symlink`.
   */
  async symlink(target: string, path: string, options: SymlinkOptions = {}): Promise<void> {
    const uri = uriOf(path);
    checkText("the target of a link", target);
    const replace = options.replace === true ? { replace: true } : {};
    await this.#ask("symlink", path, "fs/symlink", { target, path: uri, ...replace }, pick(options));
  }

  /** Returns the text of a symbolic link. Needs a server that announces `fs/readLink`. */
  async readLink(path: string, options: RequestOptions = {}): Promise<string> {
    const { target } = await this.#ask("readLink", path, "fs/readLink", { path: uriOf(path) }, pick(options));
    return target;
  }

  /** Lists a directory, sorted by name, without broken links. */
  async list(path: string, options: RequestOptions = {}): Promise<DirectoryEntry[]> {
    const entries = await this.#list(path, { path: uriOf(path) }, options);
    return entries.map((entry) => ({ name: entry.fileName, kind: kindOf(entry) }));
  }

  /** Lists a directory with links as links, broken ones too. Needs a server that announces `fs/readDirectory.detailed`. */
  async listDetails(path: string, options: RequestOptions = {}): Promise<DetailedEntry[]> {
    const uri = uriOf(path);
    if (!this.#supports("fs/readDirectory.detailed")) throw unsupported("fs/readDirectory.detailed");
    return (await this.#list(path, { path: uri, detailed: true }, options)).map(detailsOf);
  }

  /** Sorted by name. */
  async #list(
    path: string,
    params: Params<"fs/readDirectory">,
    options: RequestOptions,
  ): Promise<Result<"fs/readDirectory">["entries"]> {
    const { entries } = await this.#ask("list", path, "fs/readDirectory", params, pick(options));
    // A name that leads elsewhere would take whoever copies the tree with it.
    const wrong = entries.find(({ fileName }) => !isName(fileName));
    if (wrong !== undefined)
      throw new ProtocolError(`list ${path}: ${JSON.stringify(wrong.fileName.slice(0, 200))} is no name`);
    return entries.sort((one, other) => (one.fileName < other.fileName ? -1 : 1));
  }

  /** Describes what a path leads to. */
  async stat(path: string, options: RequestOptions = {}): Promise<FileStat> {
    const includeMode = this.#supports("fs/getMetadata.includeMode") ? { includeMode: true } : {};
    const params = { path: uriOf(path), ...includeMode };
    return statOf(await this.#ask("stat", path, "fs/getMetadata", params, pick(options)));
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

  /**
   * Reads a regular file of any size, up to 5 MiB ahead of its consumer. It is opened by the first step of a loop, and closed when the loop is left.
   */
  readStream(path: string, options: ReadStreamOptions = {}): AsyncGenerator<Uint8Array, void, undefined> {
    uriOf(path);
    const { offset = 0 } = options;
    if (!Number.isSafeInteger(offset) || offset < 0)
      throw new UsageError(`offset must be a whole number from 0 on, not ${String(offset)}`);
    return this.#streams.read(path, { ...pick(options), offset });
  }

  /**
   * Creates or empties a file, then writes the pieces as they come; returns how many bytes that were. The file is written in place: a failure leaves what was
   * written so far. A server that cannot do this (capability `fileWriteStreaming`) gets the pieces in one message, up to 47 MiB.
   */
  async writeStream(
    path: string,
    source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    options: WriteOptions = {},
  ): Promise<number> {
    uriOf(path);
    const mode = this.#modeFor("fs/chmod", options);
    const request = pick(options);
    if (await this.#streams.canWrite(request))
      return this.#streams.write(path, source, { ...request, ...mode });
    const bytes = await collectForMessage(path, source, request);
    await this.write(path, bytes, options);
    return bytes.length;
  }

  /** The mode for a request, checked. A server without `extension` would ignore it. */
  #modeFor(extension: string, { mode }: WriteOptions): { mode?: number } {
    if (mode === undefined) return {};
    checkMode(mode);
    if (!this.#supports(extension)) throw unsupported(`file modes (${extension})`);
    return { mode };
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
