import type { BorrowedBytes } from "../../calls/wire-bytes.ts";
import type { FileError } from "../file-error.ts";
import type { TreeEntry } from "../trees.ts";

/** Something of the source, as its side describes it. */
export interface Found {
  readonly kind: TreeEntry["kind"];
  readonly size: number;
  /** Permission bits; absent if the side does not know them. */
  readonly mode: number | undefined;
}

/** A name in a directory of the source, and what the listing says about it. */
export interface Listed {
  readonly name: string;
  readonly found?: Found;
  /** Why it cannot be copied. */
  readonly refused?: FileError;
}

/** Differs if a file was changed. */
export interface Version {
  readonly size: number;
  readonly modifiedMs: number;
}

/** Computes hashes of files. */
export interface Hasher {
  /** SHA-256 of a file, or of a part of it, in hexadecimal; undefined if there is no such file. */
  hash(path: string, range: HashRange | undefined, signal: AbortSignal): Promise<string | undefined>;
}

export interface HashRange {
  readonly offset: number;
  readonly length: number;
}

interface Side {
  /** Present if the side can compute hashes. */
  readonly hasher: Hasher | undefined;
  /** Its files are on another machine, so bytes that went there or came from there can be checked. */
  readonly isRemote: boolean;
  readonly knowsLinks: boolean;
  readonly knowsModes: boolean;
  /** A name in a directory. */
  child(directory: string, name: string): string;
}

/** Where files come from. */
export interface Source extends Side {
  /** Looks at what the caller has named, following links. Everything else is below the path that is returned. */
  start(path: string, signal: AbortSignal): Promise<{ readonly path: string; readonly found: Found }>;
  /** Sorted by name. */
  list(directory: string, signal: AbortSignal): Promise<readonly Listed[]>;
  /** An entry itself. */
  describe(path: string, listed: Listed, signal: AbortSignal): Promise<Found>;
  /** What a link leads to. */
  follow(path: string, signal: AbortSignal): Promise<Found>;
  /** Equal for the same directory, whichever way leads there. */
  identify(directory: string, signal: AbortSignal): Promise<string>;
  readLink(path: string, signal: AbortSignal): Promise<string>;
  /** The whole contents of a file; undefined if it has become larger than `size`. */
  readSmall(path: string, size: number, signal: AbortSignal): Promise<BorrowedBytes | undefined>;
  version(path: string, signal: AbortSignal): Promise<Version>;
  /** A file from `offset` on. Each block is valid until the next is asked for. */
  blocks(path: string, offset: number, signal: AbortSignal): AsyncIterable<Uint8Array>;
}

/** Where a directory is filled. */
export interface MadeDirectory {
  readonly path: string;
  /** It was created for that, so it is empty. */
  readonly isNew: boolean;
  /** It was created by a copy that was interrupted, and still has the mode that says so. */
  readonly isUnfinished: boolean;
}

/** The directory that the caller has chosen. */
export type FoundRoot = Omit<MadeDirectory, "isNew">;

/** How a directory is made. */
export interface DirectoryOptions {
  /** Its final mode, which it gets at the end; undefined leaves it to the side. */
  readonly mode: number | undefined;
  /** Whether the next copy must be able to tell that it was not finished. */
  readonly resumes: boolean;
  readonly isParentNew: boolean;
}

/**
 * Mode of a directory until it is finished: private, and marked with a bit that has no meaning there, so that the next
 * copy gives it its final mode if this one is interrupted.
 */
export const UNFINISHED_MODE = 0o1700;

/** Entries that a directory of the destination has. */
export type Seen = ReadonlyMap<string, Found>;

/** Where files go. A mode that is undefined leaves the permissions to the side. */
export interface Destination extends Side {
  /** A directory that the caller has chosen, with its parents. */
  makeRoot(path: string, options: DirectoryOptions, signal: AbortSignal): Promise<MadeDirectory>;
  /** The directory that the caller has chosen, if it exists; anything else in its place is an error. */
  findRoot(path: string, signal: AbortSignal): Promise<FoundRoot | undefined>;
  /** A file that the caller has chosen: its path without links, and that of its directory, which must exist. */
  locateFile(path: string): Promise<{ readonly path: string; readonly directory: string }>;
  /** A directory in one that was made before. */
  makeDirectory(path: string, options: DirectoryOptions, signal: AbortSignal): Promise<MadeDirectory>;
  /** The final mode of a directory, or of a file that stays. */
  setMode(path: string, kind: "file" | "directory", mode: number, signal: AbortSignal): Promise<void>;
  /** Undefined if the side cannot tell links from what they lead to. */
  listExisting(directory: string, signal: AbortSignal): Promise<Seen | undefined>;
  /** Removes a file or a link; nothing may be there. */
  remove(path: string, signal: AbortSignal): Promise<void>;
  /** Removes a directory with its contents, or only if it is empty. Follows no links. */
  removeDirectory(path: string, contents: "with contents" | "if empty", signal: AbortSignal): Promise<void>;
  readLink(path: string, signal: AbortSignal): Promise<string>;
  writeSmall(path: string, bytes: Uint8Array, mode: number | undefined, signal: AbortSignal): Promise<void>;
  /** A large file. With the name of a part beside it, what was written survives this program. */
  openLarge(
    path: string,
    options: { readonly mode: number | undefined; readonly part: string | undefined },
    signal: AbortSignal,
  ): Promise<LargeFile>;
  /** Whether parts survive. */
  readonly keepsParts: boolean;
  link(target: string, path: string, signal: AbortSignal): Promise<void>;
  /** Whether a name is that of an unfinished file of this copy. */
  isUnfinished(name: string): boolean;
}

/** Begins to read the source. Nothing is written before its first block is there. */
export type ReadBlocks = () => Promise<AsyncIterable<Uint8Array>>;

/** A large file that is being written. */
export interface LargeFile {
  /** Where the bytes are until it is finished. */
  readonly path: string;
  /** How many bytes are there. */
  present(signal: AbortSignal): Promise<number>;
  /** Keeps the first `offset` bytes and writes the others. */
  write(offset: number, read: ReadBlocks, signal: AbortSignal): Promise<void>;
  /** Puts it in its place. */
  finish(signal: AbortSignal): Promise<void>;
  /** Leaves nothing behind but a part, and not even that without `keepsPart`. */
  abandon(options: { readonly keepsPart: boolean }): Promise<void>;
}

/** One entry being copied. */
export interface Job {
  readonly from: string;
  readonly to: string;
  /** Path for callers; empty for the copied directory itself. */
  readonly path: string;
  readonly found: Found;
}
