import { base64Param } from "../../base/base64-bytes.ts";
import { ExecError, ProtocolError, UsageError } from "../../base/errors.ts";
import { checkText } from "../../base/system-text.ts";
import type { EnvironmentInfo } from "../../protocol/environment.ts";
import type { MethodName, Params, Result } from "../../protocol/index.ts";
import type { Sandbox } from "../../protocol/sandbox-options.ts";
import type { SandboxContext } from "../../protocol/sandbox.ts";
import { sandboxFor } from "../calls/sandbox.ts";
import { linkFreeCaller, sandboxedCaller } from "./confined-callers.ts";
import type { FileChanges, FileWatches, WatchOptions } from "./file-watches.ts";
import { unsupported } from "../calls/unsupported.ts";
import type { Caller, RequestOptions } from "../calls/caller.ts";
import { uploadBlob } from "./blob-upload.ts";
import { BLOCK_BYTES } from "./file-blocks.ts";
import { FileError, fileError, withFileError } from "./file-error.ts";
import type {
  CopyOptions,
  MakeDirectoryOptions,
  ReadOptions,
  ReadStreamOptions,
  RemoveOptions,
  SymlinkOptions,
  WalkOptions,
  WalkResult,
  WriteBlobOptions,
  WriteOptions,
} from "./file-options.ts";
import {
  type DetailedEntry,
  detailsOf,
  type DirectoryEntry,
  type FileStat,
  kindOf,
  sortedEntries,
  statOf,
  checkMode,
} from "./file-stat.ts";
import { collectForMessage, concatenate, FileStreams, tooLarge } from "./file-streams.ts";
import { pathOf, uriOf } from "./file-path.ts";
import type { CopyEnd, CopyKind, LocalTrees, TreeAccess, TreeOptions, TreeResult } from "./trees.ts";
import { walkResultOf } from "./walk-result.ts";
import { decodeBytes, MAX_BYTES_IN_MESSAGE } from "../calls/wire-bytes.ts";

/** Maximum size read with one request. Larger files are read in blocks, so that other answers can pass. */
const MAX_SINGLE_READ_BYTES = 4 * BLOCK_BYTES;
const MAX_WHOLE_FILE_BYTES = 512 * 1024 * 1024;
const UPLOAD_TREE: CopyKind = { operation: "uploadTree", only: "directory" };
const DOWNLOAD_TREE: CopyKind = { operation: "downloadTree", only: "directory" };

/** What a session provides besides requests. */
interface FilesDependencies {
  /** Absent if the server cannot watch files. */
  readonly watches?: FileWatches | undefined;
  /** Whether the server announces an extension. Default: none. */
  readonly supports?: (extension: string) => boolean;
  /** The server's description of itself, needed for a sandbox. */
  readonly environment?: () => EnvironmentInfo | undefined;
  /** Copies between machines, if this one has files. */
  readonly trees?: LocalTrees | undefined;
  /** Confines every call. */
  readonly sandbox?: SandboxContext;
}

/**
 * Files on the server's machine. Paths are plain absolute paths, such as `/etc/hosts`; `..` is resolved textually,
 * before any link is followed. If the server refuses, the call rejects with a `FileError`; a relative path rejects with
 * a `UsageError` before anything is sent.
 */
export class Files {
  readonly #caller: Caller;
  readonly #dependencies: FilesDependencies;
  readonly #supports: (extension: string) => boolean;
  readonly #streams: FileStreams;

  constructor(caller: Caller, dependencies: FilesDependencies = {}) {
    const { supports = () => false, sandbox } = dependencies;
    this.#caller = sandbox === undefined ? caller : sandboxedCaller(caller, sandbox);
    this.#dependencies = dependencies;
    this.#supports = supports;
    this.#streams = new FileStreams(this.#caller);
  }

  /**
   * The same files, with every call confined by a sandbox, which the server enforces; one that cannot refuses the
   * call. Relative paths in the sandbox start at `cwd`, by default the server's working directory.
   */
  within(sandbox: Sandbox, { cwd }: { readonly cwd?: string } = {}): Files {
    if (this.#dependencies.sandbox !== undefined)
      throw new UsageError("these files are confined by a sandbox already");
    const base = cwd === undefined ? undefined : uriOf(cwd);
    const context = sandboxFor({ environment: this.#dependencies.environment?.() }, sandbox, base);
    return new Files(this.#caller, { ...this.#dependencies, sandbox: context });
  }

  /**
   * Copies a directory of this machine, with its contents, to the server's machine; Node only. The directory at `path`
   * is created if needed, with parents. Existing contents are merged as with `cp -r`: files are replaced, other entries
   * stay, and links on the server are followed.
   */
  async uploadTree(localDirectory: string, path: string, options: TreeOptions = {}): Promise<TreeResult> {
    return this.#copy({ path: localDirectory }, { files: this, path }, UPLOAD_TREE, options);
  }

  /**
   * Copies a directory of the server's machine, with its contents, to this machine; Node only. The local directory is
   * created if needed, with parents. Existing contents are merged: files and links are replaced, other entries stay.
   * Nothing is written outside the directory: a link in place of a directory is an error.
   */
  async downloadTree(path: string, localDirectory: string, options: TreeOptions = {}): Promise<TreeResult> {
    return this.#copy({ files: this, path }, { path: localDirectory }, DOWNLOAD_TREE, options);
  }

  /**
   * Copies a file, or a directory as `uploadTree` does, from this machine to the server's; Node only. `path` is the name
   * of the copy; the directory of a file must exist.
   */
  async upload(local: string, path: string, options: TreeOptions = {}): Promise<TreeResult> {
    return this.#copy({ path: local }, { files: this, path }, { operation: "upload" }, options);
  }

  /**
   * Copies a file, or a directory as `downloadTree` does, from the server's machine to this one; Node only. `local` is
   * the name of the copy; the directory of a file must exist.
   */
  async download(path: string, local: string, options: TreeOptions = {}): Promise<TreeResult> {
    return this.#copy({ files: this, path }, { path: local }, { operation: "download" }, options);
  }

  /**
   * Copies a file or a directory to the machine of another server, through this program; Node only. The copy is named
   * and merged as with `upload`.
   */
  async transfer(path: string, to: Files, toPath: string, options: TreeOptions = {}): Promise<TreeResult> {
    return this.#copy({ files: this, path }, { files: to, path: toPath }, { operation: "transfer" }, options);
  }

  async #copy(
    from: { readonly files?: Files; readonly path: string },
    to: { readonly files?: Files; readonly path: string },
    kind: CopyKind,
    options: TreeOptions,
  ): Promise<TreeResult> {
    const [source, destination] = [from, to].map(({ files, path }): CopyEnd => {
      if (files !== undefined) uriOf(path);
      return { access: files === undefined ? undefined : files.#treeAccess(), path };
    });
    const { trees: copyTree } = this.#dependencies;
    if (copyTree === undefined)
      throw new ExecError(
        "UNSUPPORTED",
        `${kind.operation} needs local files, which only Node.js can access`,
      );
    return copyTree(source!, destination!, kind, options);
  }

  #treeAccess(): TreeAccess {
    return {
      files: this,
      streams: this.#streams,
      caller: this.#caller,
      supports: this.#supports,
      withoutLinks: () => {
        const { sandbox: _, ...dependencies } = this.#dependencies;
        return new Files(linkFreeCaller(this.#caller), dependencies).#treeAccess();
      },
    };
  }

  /** Reads a whole regular file of up to `maxBytes`. */
  async read(path: string, options: ReadOptions = {}): Promise<Uint8Array> {
    const uri = uriOf(path);
    const maxBytes = options.maxBytes ?? MAX_WHOLE_FILE_BYTES;
    const { dataBase64, size } = await this.#readAtOnce(path, uri, options);
    if (size !== undefined) {
      if (size > maxBytes) throw tooLarge(path, maxBytes);
      const blocks = this.#streams.read(path, { ...options, offset: 0 });
      return concatenate(blocks, path, maxBytes);
    }
    const bytes = decodeBytes(dataBase64, "the answer to fs/readFile");
    if (bytes.length > maxBytes) throw tooLarge(path, maxBytes);
    return bytes;
  }

  /** With one request, if the server can leave a file alone that is too long for one answer; its size is known then. */
  async #readAtOnce(
    path: string,
    uri: string,
    options: ReadOptions,
  ): Promise<{ readonly dataBase64: string; readonly size?: number | undefined }> {
    const maxBytes = Math.min(options.maxBytes ?? MAX_WHOLE_FILE_BYTES, MAX_SINGLE_READ_BYTES);
    if (this.#supports("fs/readFile.maxBytes"))
      return this.#ask("read", path, "fs/readFile", { path: uri, maxBytes }, options);
    const { isFile, size } = await this.#ask("read", path, "fs/getMetadata", { path: uri }, options);
    if (isFile && size > maxBytes) return { dataBase64: "", size };
    return this.#ask("read", path, "fs/readFile", { path: uri }, options);
  }

  /** Reads a regular file as UTF-8; invalid bytes become U+FFFD. */
  async readText(path: string, options: ReadOptions = {}): Promise<string> {
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(await this.read(path, options));
  }

  /**
   * Creates or replaces a file; its directory must exist. Text is written as UTF-8. Data that does not fit into one
   * message (47 MiB) is written like a stream.
   */
  async write(path: string, data: string | Uint8Array, options: WriteOptions = {}): Promise<void> {
    const uri = uriOf(path);
    const mode = this.#modeFor("fs/writeFile.mode", options);
    const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
    if (bytes.length > MAX_BYTES_IN_MESSAGE) {
      await this.writeStream(path, [bytes], options);
      return;
    }
    // A copy, because the caller may change the bytes before the request is answered.
    const params = { path: uri, dataBase64: base64Param(bytes.slice()), ...mode };
    await this.#ask("write", path, "fs/writeFile", params, options);
  }

  /** Sets the permissions of a path's target. Needs a server that announces `fs/chmod`. */
  async chmod(path: string, mode: number, options: RequestOptions = {}): Promise<void> {
    const uri = uriOf(path);
    checkMode(mode);
    await this.#ask("chmod", path, "fs/chmod", { path: uri, mode }, options);
  }

  /**
   * Creates a symbolic link at `path`. The target can be any text; it is relative to the link's directory and need not
   * exist. Needs a server that announces `fs/symlink`.
   */
  async symlink(target: string, path: string, options: SymlinkOptions = {}): Promise<void> {
    const uri = uriOf(path);
    checkText("the target of a link", target);
    const replace = options.replace === true ? { replace: true } : {};
    await this.#ask("symlink", path, "fs/symlink", { target, path: uri, ...replace }, options);
  }

  /** Returns the text of a symbolic link. Needs a server that announces `fs/readLink`. */
  async readLink(path: string, options: RequestOptions = {}): Promise<string> {
    const { target } = await this.#ask("readLink", path, "fs/readLink", { path: uriOf(path) }, options);
    if (target === "" || target.includes("\0"))
      throw new ProtocolError(
        `readLink ${path}: ${JSON.stringify(target.slice(0, 200))} is not a valid link target`,
      );
    return target;
  }

  /** Lists a directory, sorted by name, without broken links. */
  async list(path: string, options: RequestOptions = {}): Promise<DirectoryEntry[]> {
    const listed = await this.#ask("list", path, "fs/readDirectory", { path: uriOf(path) }, options);
    return sortedEntries(path, listed).map((entry) => ({ name: entry.fileName, kind: kindOf(entry) }));
  }

  /**
   * Lists a directory with links as links, including broken ones. Needs a server that announces
   * `fs/readDirectory.detailed`.
   */
  async listDetails(path: string, options: RequestOptions = {}): Promise<DetailedEntry[]> {
    const params = { path: uriOf(path), detailed: true };
    if (!this.#supports("fs/readDirectory.detailed")) throw unsupported("fs/readDirectory.detailed");
    const listed = await this.#ask("list", path, "fs/readDirectory", params, options);
    return sortedEntries(path, listed).map(detailsOf);
  }

  /** Returns metadata of a path's target. */
  async stat(path: string, options: RequestOptions = {}): Promise<FileStat> {
    const includeMode = this.#supports("fs/getMetadata.includeMode") ? { includeMode: true } : {};
    const params = { path: uriOf(path), ...includeMode };
    return statOf(await this.#ask("stat", path, "fs/getMetadata", params, options));
  }

  /** False for a broken link. Rejects if the server may not look. */
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
    await this.#ask("mkdir", path, "fs/createDirectory", params, options);
  }

  /** Removes a file, a link (never its target) or an empty directory; a whole tree with `recursive`. */
  async remove(path: string, options: RemoveOptions = {}): Promise<void> {
    const { recursive = false, force = false } = options;
    await this.#ask("remove", path, "fs/remove", { path: uriOf(path), recursive, force }, options);
  }

  /**
   * Moves a file, a link or a directory; replaces a file at the destination. Needs a server that announces `fs/rename`.
   */
  async rename(from: string, to: string, options: RequestOptions = {}): Promise<void> {
    await this.#ask("rename", from, "fs/rename", { from: uriOf(from), to: uriOf(to) }, options);
  }

  /**
   * Reports changes of a file or in a directory, from the moment the promise resolves until the loop is left, the
   * signal is aborted or the watched path is gone. Needs a server that announces `fs/watch`.
   */
  async watch(path: string, options: WatchOptions = {}): Promise<AsyncIterableIterator<FileChanges>> {
    const uri = uriOf(path);
    const { watches, sandbox } = this.#dependencies;
    if (watches === undefined) throw unsupported("fs/watch");
    return withFileError("watch", path, watches.open(uri, options, sandbox));
  }

  /**
   * Copies a file, a link or a directory on the server's machine; replaces existing files and merges existing
   * directories.
   */
  async copy(from: string, to: string, options: CopyOptions = {}): Promise<void> {
    const { recursive = false } = options;
    const params = { sourcePath: uriOf(from), destinationPath: uriOf(to), recursive };
    await this.#ask("copy", from, "fs/copy", params, options);
  }

  /** Resolves all symbolic links of an existing path. */
  async realpath(path: string, options: RequestOptions = {}): Promise<string> {
    const answer = await this.#ask("realpath", path, "fs/canonicalize", { path: uriOf(path) }, options);
    const real = pathOf(answer.path);
    if (!real.exact) throw fileError("UNSUPPORTED", "realpath", path, `${real.path} is not UTF-8`);
    return real.path;
  }

  /** Lists everything below a directory, without the directory itself. */
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
    return walkResultOf(path, params, await this.#ask("walk", path, "fs/walk", params, options));
  }

  /**
   * Reads a regular file of any size, up to 5 MiB ahead of its consumer. The first step of a loop opens it, and leaving
   * the loop closes it.
   */
  readStream(path: string, options: ReadStreamOptions = {}): AsyncGenerator<Uint8Array, void, undefined> {
    uriOf(path);
    const { offset = 0, length = Infinity } = options;
    for (const [name, value] of [
      ["offset", offset],
      ["length", length],
    ] as const)
      if (!(Number.isSafeInteger(value) || (name === "length" && value === Infinity)) || value < 0)
        throw new UsageError(`${name} must be a whole number, 0 or greater, not ${String(value)}`);
    const request = { ...options, offset, length };
    if (options.resume !== true) return this.#streams.read(path, request);
    return this.#streams.readResumed(path, () => this.stat(path, options), request);
  }

  /**
   * Creates or truncates a file, then writes the pieces as they arrive; returns the number of bytes. The file is
   * written in place: a failure leaves the part written so far. A server without the capability `fileWriteStreaming`
   * gets all pieces in one message of up to 47 MiB.
   */
  async writeStream(
    path: string,
    source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    options: WriteOptions = {},
  ): Promise<number> {
    uriOf(path);
    this.#modeFor("fs/chmod", options);
    if (await this.#streams.canWrite(options)) return this.#streams.write(path, source, options);
    const bytes = await collectForMessage(path, source, options);
    await this.write(path, bytes, options);
    return bytes.length;
  }

  /**
   * Creates or replaces a file with the contents of a Blob, such as a file that the user of a page has chosen. Resumes
   * where it stopped after a lost connection. Until it is complete, it is in a hidden file in the same directory, whose
   * name begins with `.exec-server-part-`; a failure leaves the old file. A server that does not announce
   * `fs/openPart`, `fs/rename` and `fs/chmod` gets it in place, and from the beginning after a lost connection.
   */
  async writeBlob(path: string, blob: Blob, options: WriteBlobOptions = {}): Promise<void> {
    uriOf(path);
    if (options.part !== undefined && !/^[\w-]{1,64}$/.test(options.part))
      throw new UsageError(
        `part must be up to 64 letters, digits, _ or -, not ${JSON.stringify(options.part)}`,
      );
    await uploadBlob(this.#treeAccess(), path, blob, options);
  }

  /** The validated mode for a request. A server without `extension` would ignore it. */
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
    return withFileError(operation, path, this.#caller.request(method, params, options));
  }
}
