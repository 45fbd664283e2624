import type { FileError } from "./file-error.ts";
import type { Caller, RequestOptions } from "../calls/caller.ts";
import type { DetailedEntry, DirectoryEntry, FileStat } from "./file-stat.ts";
import type { FileStreams } from "./file-streams.ts";

/** How a tree is copied between this machine and the server's. */
export interface TreeOptions extends RequestOptions {
  /** Called after each copied entry, and for each block of a large file. If it throws, the copy ends. */
  readonly onProgress?: (progress: TreeProgress) => void;
  /** Skips entries for which it returns false; a directory is skipped with its contents. */
  readonly filter?: (entry: TreeEntry) => boolean | Promise<boolean>;
  /**
   * How to treat symbolic links: `keep` copies them as links with the same text, `follow` copies their targets, `skip`
   * leaves them out. Default: `keep`, which needs a server that announces `fs/symlink` and `fs/readLink` as soon as
   * there is a link.
   */
  readonly symlinks?: "keep" | "follow" | "skip";
  /**
   * Gives files and new directories the permissions of the original: read, write and execute, but not set-user-ID and
   * similar bits. Default: true; ignored if the server does not support modes.
   */
  readonly modes?: boolean;
  /** Number of files and directories processed at a time, 1 to 64. Default: 8. */
  readonly concurrency?: number;
  /**
   * Skips files that already have the same contents, and resumes large files where an earlier copy, of this program or
   * another one, was interrupted. Until they are complete, such files are in hidden files in the same directory, whose
   * names begin with `.exec-server-part-`. Needs a server that announces `fs/hash` and `fs/openPart`; others get
   * everything again. Default: false.
   */
  readonly resume?: boolean;
  /**
   * Compares the SHA-256 of what was sent and what arrived. Needs a server that announces `fs/hash`; see
   * `TreeResult.verified`. Default: false.
   */
  readonly verify?: boolean;
  /**
   * How to treat symbolic links in the destination on a server: `follow` writes to their targets, as `cp -r` does;
   * `replace` writes nothing through them: files replace links, and a link in place of a directory is an error.
   * `replace` needs a server that announces `fs/readDirectory.detailed` and, against links that appear during the copy,
   * `fs/writeFile.noLinks`. On this machine links are never followed. Default: `follow`.
   */
  readonly remoteLinks?: "follow" | "replace";
  /**
   * Called when something could not be copied; the rest still is. If it throws, the copy ends. Default: the first error
   * ends the copy.
   */
  readonly onError?: (error: FileError, path: string) => void;
  /**
   * Makes a directory match the source instead of adding to it; links and modes are preserved. Files are compared by
   * size and SHA-256, as with `resume`. `filter` also protects what is in the destination. Needs a server that
   * announces `fs/hash` and `fs/readDirectory.detailed`. Default: the source is merged into the destination.
   */
  readonly mirror?: MirrorOptions;
}

/** How to mirror a directory. */
export interface MirrorOptions {
  /**
   * Removes what the source does not have, after everything else. If the source is empty, this is refused. What is
   * inside a directory of the source that cannot be listed stays. Default: false.
   */
  readonly delete?: boolean;
  /** Removes everything if the source is empty. Default: false. */
  readonly deleteAll?: boolean;
  /** Only reports what would change. Default: false. */
  readonly dryRun?: boolean;
  /**
   * Only these paths below the directory, each with everything in it; other differences are ignored. Default:
   * everything.
   */
  readonly only?: readonly string[];
  /** Called before each change. If it throws, the copy ends. */
  readonly onChange?: (change: MirrorChange) => void;
}

/** One change of the destination. */
export interface MirrorChange {
  /** `create` makes a directory, `copy` a file, `link` a symbolic link; `mode` sets permissions. */
  readonly action: "copy" | "create" | "link" | "mode" | "delete";
  /** Below the directory, with slashes. Of a directory that is deleted with everything in it, only its own path. */
  readonly path: string;
  readonly kind: TreeEntry["kind"];
  /** Size of the file that is copied. */
  readonly bytes: number;
}

/** What is about to be copied. */
export interface TreeEntry {
  /** Below the directory that is copied, with slashes: `src/main.ts`. */
  readonly path: string;
  /** `link` only if links are kept; `other` is a device, a pipe or a socket, which is not copied. */
  readonly kind: "file" | "directory" | "link" | "other";
  readonly size: number;
}

/** What has been copied so far. */
export interface TreeProgress {
  readonly files: number;
  readonly directories: number;
  readonly links: number;
  readonly bytes: number;
  /** Present with `resume`: bytes that did not have to be copied, because they were there. */
  readonly keptBytes?: number;
  /** Present with `mirror`: files and links that are the same already, and are not in the other counts. */
  readonly same?: number;
  /** Present with `mirror`: what was deleted; a directory with everything in it counts as one. */
  readonly deleted?: number;
  /** The entry that was just copied; see `TreeEntry`. */
  readonly path: string;
}

/** What was copied. */
export interface TreeResult extends Omit<TreeProgress, "path"> {
  /** Devices, pipes and sockets, which are not copied. */
  readonly skipped: readonly string[];
  /** Present if copies lack set-user-ID or set-group-ID bits of their originals: how many, and the first of them. */
  readonly withoutSetId?: { readonly count: number; readonly first: string };
  /** Present with `verify`: whether hashes were compared, which not every server can. */
  readonly verified?: boolean;
}

type ModeOptions = RequestOptions & { readonly mode?: number };

/** Methods of `Files` that copying needs. */
interface TreeFiles {
  stat(path: string, options: RequestOptions): Promise<FileStat>;
  realpath(path: string, options: RequestOptions): Promise<string>;
  list(path: string, options: RequestOptions): Promise<DirectoryEntry[]>;
  listDetails(path: string, options: RequestOptions): Promise<DetailedEntry[]>;
  readStream(path: string, options: RequestOptions & { offset: number }): AsyncIterable<Uint8Array>;
  write(path: string, data: Uint8Array, options: ModeOptions): Promise<void>;
  writeStream(path: string, source: AsyncIterable<Uint8Array>, options: ModeOptions): Promise<number>;
  mkdir(path: string, options: RequestOptions): Promise<void>;
  chmod(path: string, mode: number, options: RequestOptions): Promise<void>;
  remove(
    path: string,
    options: RequestOptions & { readonly force?: boolean; readonly recursive?: boolean },
  ): Promise<void>;
  rename(from: string, to: string, options: RequestOptions): Promise<void>;
  symlink(target: string, path: string, options: RequestOptions & { replace: boolean }): Promise<void>;
  readLink(path: string, options: RequestOptions): Promise<string>;
}

/** What copying needs from a session. */
export interface TreeAccess {
  readonly files: TreeFiles;
  readonly streams: FileStreams;
  readonly caller: Caller;
  readonly supports: (extension: string) => boolean;
  /** The same, for paths without links: whatever is changed through one is refused. */
  readonly withoutLinks: () => TreeAccess;
}

/** One end of a copy: a path on a server, or on this machine. */
export interface CopyEnd {
  readonly access: TreeAccess | undefined;
  readonly path: string;
}

/** What can be copied, and the name of the operation in errors. */
export interface CopyKind {
  readonly operation: string;
  readonly only?: "directory";
}

/**
 * Copies a file or a tree between servers and the machine that this program runs on. Browsers cannot access such files.
 */
export type LocalTrees = (
  from: CopyEnd,
  to: CopyEnd,
  kind: CopyKind,
  options: TreeOptions,
) => Promise<TreeResult>;
