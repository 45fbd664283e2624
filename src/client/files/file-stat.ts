import { ProtocolError, UsageError } from "../../base/errors.ts";
import type { Result } from "../../protocol/index.ts";

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
}

/** Metadata of what a path leads to. */
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

export function statOf(found: Result<"fs/getMetadata">): FileStat {
  return {
    kind: kindOf(found),
    isSymlink: found.isSymlink,
    size: found.size,
    mode: found.mode === undefined ? undefined : permissionsOf(found.mode),
    modified: dateOf(found.modifiedAtMs),
    created: found.createdAtMs === 0 ? undefined : dateOf(found.createdAtMs),
  };
}

export function detailsOf(found: Result<"fs/readDirectory">["entries"][number]): DetailedEntry {
  const { fileName, isSymlink, mode, size, modifiedAtMs } = found;
  if (isSymlink === undefined || mode === undefined || size === undefined)
    throw new ProtocolError(`the server described ${JSON.stringify(fileName)} without details`);
  return {
    name: fileName,
    kind: isSymlink ? "link" : kindOf(found),
    size,
    mode: permissionsOf(mode),
    modified: modifiedAtMs === undefined ? undefined : dateOf(modifiedAtMs),
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
