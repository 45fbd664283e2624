import type { Caller, RequestOptions } from "../session/caller.ts";
import type { DetailedEntry, DirectoryEntry, FileStat } from "./file-stat.ts";

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
  /** What was copied just now; see `TreeEntry`. */
  readonly path: string;
}

/** What was copied. */
export interface TreeResult extends Omit<TreeProgress, "path"> {
  /** Devices, pipes and sockets, which are not copied. */
  readonly skipped: readonly string[];
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
  symlink(target: string, path: string, options: RequestOptions & { replace: boolean }): Promise<void>;
  readLink(path: string, options: RequestOptions): Promise<string>;
}

/** What copying needs of a session. */
export interface TreeAccess {
  readonly files: TreeFiles;
  readonly caller: Caller;
  readonly supports: (extension: string) => boolean;
}

/** Copies trees from and to the files of the machine that this program runs on. A browser has none. */
export interface LocalTrees {
  upload(access: TreeAccess, from: string, to: string, options: TreeOptions): Promise<TreeResult>;
  download(access: TreeAccess, from: string, to: string, options: TreeOptions): Promise<TreeResult>;
}
