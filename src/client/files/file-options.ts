import type { RequestOptions } from "../calls/caller.ts";

/** How to read a file. */
export interface ReadOptions extends RequestOptions {
  /** Larger files are refused. Default: 512 MiB. */
  readonly maxBytes?: number;
}

/** How to read a file as a stream. */
export interface ReadStreamOptions extends RequestOptions {
  /** Start offset in bytes. Default: 0. */
  readonly offset?: number;
  /** Most bytes to read. Default: to the end of the file. */
  readonly length?: number;
  /**
   * Resumes where it stopped after a lost connection, unless the file has changed in the meantime, which is an error.
   * Default: false, a lost connection ends the stream.
   */
  readonly resume?: boolean;
}

/** How to write a file. */
export interface WriteOptions extends RequestOptions {
  /**
   * Permissions of the file, such as `0o600`, regardless of the server's umask. They are set before the first byte is
   * written. Needs a server that announces `fs/writeFile.mode` and `fs/chmod`. Default: the server's umask decides for
   * a new file, and an existing file keeps its permissions.
   */
  readonly mode?: number;
}

/** How to write a Blob. */
export interface WriteBlobOptions extends RequestOptions {
  /** Is called with the number of bytes that were sent, of all that the Blob has. */
  readonly onProgress?: (bytes: number) => void;
  /**
   * Suffix of the hidden file that holds what has arrived so far. A call with the same Blob, path and part continues
   * what a lost session left behind, or removes it if its signal is aborted. Default: a new one for each call.
   */
  readonly part?: string;
}

/** How to create a link. */
export interface SymlinkOptions extends RequestOptions {
  /** Atomically replaces an existing file or link. Default: false. */
  readonly replace?: boolean;
}

/** How to create a directory. */
export interface MakeDirectoryOptions extends RequestOptions {
  /** Also creates parents, and accepts an existing directory. Default: true. */
  readonly recursive?: boolean;
}

/** What to remove. */
export interface RemoveOptions extends RequestOptions {
  /** Removes a directory with its contents. Default: false. */
  readonly recursive?: boolean;
  /** Accepts a missing path. Default: false. */
  readonly force?: boolean;
}

/** What to copy. */
export interface CopyOptions extends RequestOptions {
  /** Required for a directory. Default: false. */
  readonly recursive?: boolean;
}

/** Limits of a walk. */
export interface WalkOptions extends RequestOptions {
  /** 0 lists only direct children. Default and maximum: 64. */
  readonly maxDepth?: number;
  /** Default and maximum: 10 000. */
  readonly maxDirectories?: number;
  /** Counts every name visited. Default and maximum: 50 000. */
  readonly maxEntries?: number;
  /** Enters linked directories, each real directory once. Default: false. */
  readonly followDirectorySymlinks?: boolean;
  /** Lists directories with a leading dot, but does not enter them. Default: false. */
  readonly pruneHiddenDirectories?: boolean;
}

/** Result of a walk. */
export interface WalkResult {
  /** Level by level, sorted by name; without special files and links to files. */
  readonly entries: readonly { readonly path: string; readonly kind: "file" | "directory" }[];
  /** Paths that could not be read, and names that are not UTF-8. */
  readonly errors: readonly { readonly path: string; readonly message: string }[];
  /** The walk stopped early at a limit. */
  readonly truncated: boolean;
}
