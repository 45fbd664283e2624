import type { BorrowedBytes } from "../../calls/wire-bytes.ts";
import type { FileError } from "../file-error.ts";
import type { TreeEntry } from "../trees.ts";

/** Something of the source, as its side describes it. */
export interface EntryInfo {
  readonly kind: TreeEntry["kind"];
  readonly size: number;
  /** Permission bits; absent if the side does not know them. */
  readonly mode: number | undefined;
}

/** A name in a directory of the source, and what the listing says about it. */
export interface Listed {
  readonly name: string;
  readonly info?: EntryInfo;
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
  /** SHA-256 of a file, or of a range of it, in hexadecimal; undefined if the file does not exist. */
  hash(path: string, range: HashRange | undefined, signal: AbortSignal): Promise<string | undefined>;
}

export interface HashRange {
  readonly offset: number;
  readonly length: number;
}

interface Side {
  /** Present if the side can compute hashes. */
  readonly hasher: Hasher | undefined;
  /** Whether its files are on another machine, so that transferred bytes can be verified. */
  readonly isRemote: boolean;
  readonly knowsLinks: boolean;
  readonly knowsModes: boolean;
  /** A name in a directory. */
  child(directory: string, name: string): string;
}

/** The source of a copy. */
export interface Source extends Side {
  /** Describes the path that the caller has named, following links. Everything else is below the returned path. */
  start(path: string, signal: AbortSignal): Promise<{ readonly path: string; readonly info: EntryInfo }>;
  /** Sorted by name. */
  list(directory: string, signal: AbortSignal): Promise<readonly Listed[]>;
  /** An entry itself. */
  describe(path: string, listed: Listed, signal: AbortSignal): Promise<EntryInfo>;
  /** Describes a link's target. */
  follow(path: string, signal: AbortSignal): Promise<EntryInfo>;
  /** Equal for the same directory, whichever way leads there. */
  identify(directory: string, signal: AbortSignal): Promise<string>;
  readLink(path: string, signal: AbortSignal): Promise<string>;
  /** The whole contents of a file; undefined if it has become larger than `size`. */
  readSmall(path: string, size: number, signal: AbortSignal): Promise<BorrowedBytes | undefined>;
  version(path: string, signal: AbortSignal): Promise<Version>;
  /** A file's blocks from `offset`. Each is valid until the next one is requested. */
  blocks(path: string, offset: number, signal: AbortSignal): AsyncIterable<Uint8Array>;
}

/** A directory to be filled. */
export interface MadeDirectory {
  readonly path: string;
  /** Whether it was just created, and so is empty. */
  readonly isNew: boolean;
  /** Whether an interrupted copy created it, and it still has the mode that marks that. */
  readonly isUnfinished: boolean;
}

/** The directory that the caller has chosen. */
export type ExistingRoot = Omit<MadeDirectory, "isNew">;

/** Options for creating a directory. */
export interface DirectoryOptions {
  /** Its final mode, which it gets at the end; undefined leaves it to the side. */
  readonly mode: number | undefined;
  /** Whether the next copy must be able to tell that it is unfinished. */
  readonly resumes: boolean;
  readonly isParentNew: boolean;
}

/**
 * Mode of an unfinished directory: private, and marked with a bit that has no effect there, so that the next copy sets
 * its final mode if this one is interrupted.
 */
export const UNFINISHED_MODE = 0o1700;

/** Entries that a directory of the destination has. */
export type Seen = ReadonlyMap<string, EntryInfo>;

/** The destination of a copy. An undefined mode leaves the permissions to the side. */
export interface Destination extends Side {
  /** A directory that the caller has chosen, with its parents. */
  makeRoot(path: string, options: DirectoryOptions, signal: AbortSignal): Promise<MadeDirectory>;
  /** The directory that the caller has chosen, if it exists; anything else in its place is an error. */
  findRoot(path: string, signal: AbortSignal): Promise<ExistingRoot | undefined>;
  /** A file that the caller has chosen: its path without links, and that of its directory, which must exist. */
  locateFile(path: string): Promise<{ readonly path: string; readonly directory: string }>;
  /** A directory in one that was made before. */
  makeDirectory(path: string, options: DirectoryOptions, signal: AbortSignal): Promise<MadeDirectory>;
  /** The final mode of a directory, or of a file that stays. */
  setMode(path: string, kind: "file" | "directory", mode: number, signal: AbortSignal): Promise<void>;
  /** Undefined if the side cannot distinguish links from their targets. */
  listExisting(directory: string, signal: AbortSignal): Promise<Seen | undefined>;
  /** Removes a file or a link; nothing may be there. */
  remove(path: string, signal: AbortSignal): Promise<void>;
  /** Removes a directory with its contents, or only if it is empty. Follows no links. */
  removeDirectory(path: string, contents: "with contents" | "if empty", signal: AbortSignal): Promise<void>;
  readLink(path: string, signal: AbortSignal): Promise<string>;
  writeSmall(path: string, bytes: Uint8Array, mode: number | undefined, signal: AbortSignal): Promise<void>;
  /** Opens a large file. With the name of a part beside it, what was written survives this program. */
  openLarge(path: string, options: LargeFileOptions, signal: AbortSignal): Promise<LargeFile>;
  /** Whether parts survive. */
  readonly keepsParts: boolean;
  link(target: string, path: string, signal: AbortSignal): Promise<void>;
  /** Whether a name is that of an unfinished file of this copy. */
  isUnfinished(name: string): boolean;
}

/** Begins to read the source. Nothing is written before its first block is there. */
export type ReadBlocks = () => Promise<AsyncIterable<Uint8Array>>;

/** How a large file is written. */
export interface LargeFileOptions {
  readonly mode: number | undefined;
  /** Name of the part that has it until it is complete. */
  readonly part: string | undefined;
}

/** A large file that is being written. */
export interface LargeFile {
  /** The path that holds the bytes until it is finished. */
  readonly path: string;
  /** Number of bytes already there. */
  present(signal: AbortSignal): Promise<number>;
  /** Keeps the first `offset` bytes and writes the others. */
  write(offset: number, read: ReadBlocks, signal: AbortSignal): Promise<void>;
  /** Puts it in its place. */
  finish(signal: AbortSignal): Promise<void>;
  /** Leaves nothing behind but a part, and not even that without `keepsPart`. */
  abandon(options: { readonly keepsPart: boolean }): Promise<void>;
}

/** Paths of an entry. */
export interface Entry {
  readonly from: string;
  readonly to: string;
  /** Path for callers; empty for the copied directory itself. */
  readonly path: string;
}

/** One entry being copied. */
export interface Job extends Entry {
  readonly info: EntryInfo;
}
