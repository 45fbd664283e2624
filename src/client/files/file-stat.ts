import { ProtocolError, UsageError } from "../../base/errors.ts";
import type { Result } from "../../protocol/index.ts";
import { isName } from "./file-path.ts";

/** Maximum time of a Date. */
const MAX_DATE_MS = 8.64e15;

/** `other` is a device, a pipe or a socket. */
export type FileKind = "file" | "directory" | "other";

/** One name in a directory. */
export interface DirectoryEntry {
  readonly name: string;
  /** Kind of the target, for a link. */
  readonly kind: FileKind;
}

/** One directory entry, with links not followed. */
export interface DetailedEntry {
  readonly name: string;
  /** A link is reported as a link, wherever it points. */
  readonly kind: FileKind | "link";
  /** In bytes; for a link, the length of its text. */
  readonly size: number;
  /** Permission bits. */
  readonly mode: number;
  /** Absent if the server does not report it. */
  readonly modified: Date | undefined;
  /** What an `other` is. Absent if the server does not report it. */
  readonly special?: "pipe" | "socket" | "block device" | "character device" | undefined;
}

/** Metadata of a path's target. */
export interface FileStat {
  /** Kind of the target, for a link. */
  readonly kind: FileKind;
  /** The path itself is a symbolic link. */
  readonly isSymlink: boolean;
  readonly size: number;
  /** Permission bits, such as `0o644`. Absent if the server does not report them. */
  readonly mode: number | undefined;
  /** A time beyond the year 275760, which some file systems can store, becomes the latest valid Date. */
  readonly modified: Date;
  /** Absent if the server's platform does not record it. */
  readonly created: Date | undefined;
}

export function statOf(metadata: Result<"fs/getMetadata">): FileStat {
  const { isSymlink, size, mode, modifiedAtMs, createdAtMs } = metadata;
  return {
    kind: kindOf(metadata),
    isSymlink,
    size,
    mode: mode === undefined ? undefined : permissionsOf(mode),
    modified: dateOf(modifiedAtMs),
    created: createdAtMs === 0 ? undefined : dateOf(createdAtMs),
  };
}

/** The entries of a listed directory, sorted by name. */
export function sortedEntries(path: string, { entries }: Result<"fs/readDirectory">): typeof entries {
  // A name that leads elsewhere could divert a copy of the tree.
  const wrong = entries.find(({ fileName }) => !isName(fileName));
  if (wrong !== undefined)
    throw new ProtocolError(
      `list ${path}: ${JSON.stringify(wrong.fileName.slice(0, 200))} is not a valid file name`,
    );
  return entries.sort((one, other) => (one.fileName < other.fileName ? -1 : 1));
}

export function detailsOf(entry: Result<"fs/readDirectory">["entries"][number]): DetailedEntry {
  const { fileName, isSymlink, mode, size, modifiedAtMs, special } = entry;
  if (isSymlink === undefined || mode === undefined || size === undefined)
    throw new ProtocolError(`the server described ${JSON.stringify(fileName)} without details`);
  return {
    name: fileName,
    kind: isSymlink ? "link" : kindOf(entry),
    size,
    mode: permissionsOf(mode),
    modified: modifiedAtMs === undefined ? undefined : dateOf(modifiedAtMs),
    ...(special === undefined ? {} : { special }),
  };
}

/** The permission bits of a mode, whatever else a server includes in it. */
function permissionsOf(mode: number): number {
  return mode & 0o7777;
}

export function kindOf({ isFile, isDirectory }: { isFile: boolean; isDirectory: boolean }): FileKind {
  if (isFile) return "file";
  return isDirectory ? "directory" : "other";
}

function dateOf(ms: number): Date {
  return new Date(Math.min(Math.max(ms, -MAX_DATE_MS), MAX_DATE_MS));
}

/** Throws unless it is a valid set of permission bits. */
export function checkMode(mode: number): void {
  if (!Number.isInteger(mode) || mode < 0 || mode > 0o7777)
    throw new UsageError(`mode must be a whole number from 0 to 0o7777, not ${String(mode)}`);
}
