import type { FileError } from "./file-error.ts";
import type { Caller, RequestOptions } from "../calls/caller.ts";
import type { DetailedEntry, DirectoryEntry, FileStat } from "./file-stat.ts";
import type { FileStreams } from "./file-streams.ts";

/** How a tree is copied between this machine and the server's. */
export interface TreeOptions extends RequestOptions {
  /** Is called when something was copied, and for each block of a large file. What it throws ends the copying. */
  readonly onProgress?: (progress: TreeProgress) => void;
  /** Skips entries for which it returns false; a directory is skipped with its contents. */
  readonly filter?: (entry: TreeEntry) => boolean | Promise<boolean>;
  /**
   * What becomes of symbolic links: `keep` copies them as links with the same text, `follow` copies what they lead to,
   * `skip` leaves them out. Default: `keep`, which needs a server that announces `fs/symlink` and `fs/readLink` as soon
   * as there is a link.
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
   * Leaves files alone that have the same contents already, and continues large files where an earlier copy, of this
   * program or another one, was interrupted. Until they are complete, such files are in hidden files beside their place,
   * whose names begin with `.exec-server-part-`. Needs a server that announces `fs/hash` and `fs/openPart`; others get
   * everything again. Default: false.
   */
  readonly resume?: boolean;
  /**
   * Compares the SHA-256 of what was sent and what arrived. Needs a server that announces `fs/hash`; see
   * `TreeResult.verified`. Default: false.
   */
  readonly verify?: boolean;
  /**
   * What becomes of symbolic links that are in the destination on a server: `follow` writes to what they lead to, as
   * `cp -r` does, `replace` writes nothing through them: files take the place of links, and a link in the place of a
   * directory is an error. `replace` needs a server that announces `fs/readDirectory.detailed`, and against links
   * that appear meanwhile one that announces `fs/writeFile.noLinks`. On this machine links
   * are never followed. Default: `follow`.
   */
  readonly remoteLinks?: "follow" | "replace";
  /**
   * Is called when something could not be copied; the others still are. What it throws ends the copying. Default: the
   * first error ends the copying.
   */
  readonly onError?: (error: FileError, path: string) => void;
  /**
   * Makes a directory like the source instead of adding to it; links and modes are kept. Files are compared by size and
   * SHA-256, as with `resume`. `filter` also protects what is in the destination. Needs a server that announces
   * `fs/hash` and `fs/readDirectory.detailed`. Default: the source is merged into what is there.
   */
  readonly mirror?: MirrorOptions;
}

/** How a directory is made like another one. */
export interface MirrorOptions {
  /**
   * Removes what the source does not have, after everything else. If the source is empty, this is refused. What is
   * inside a directory of the source that cannot be listed stays. Default: false.
   */
  readonly delete?: boolean;
  /** Removes everything if the source is empty. Default: false. */
  readonly deleteAll?: boolean;
  /** Only reports what would be changed. Default: false. */
  readonly dryRun?: boolean;
  /**
   * Only these paths below the directory, each with everything in it; what else may differ is not looked at. Default:
   * everything.
   */
  readonly only?: readonly string[];
  /** Is called before something is changed. What it throws ends the copying. */
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
  /** What was copied just now; see `TreeEntry`. */
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

/** What copying needs of `Files`. */
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

/** What copying needs of a session. */
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

/** What a copy may start from, and what it is called in errors. */
export interface CopyKind {
  readonly operation: string;
  readonly only?: "directory";
}

/** Copies files and trees between servers and the machine that this program runs on. A browser has no such files. */
export interface LocalTrees {
  copy(from: CopyEnd, to: CopyEnd, kind: CopyKind, options: TreeOptions): Promise<TreeResult>;
}
