import { ProtocolError } from "../../base/errors.ts";
import type { Result } from "../../protocol/index.ts";

/** Beyond it a Date is none. */
const MAX_DATE_MS = 8.64e15;

/** `other` is what is neither: a device, a pipe, a socket. */
export type FileKind = "file" | "directory" | "other";

/** One name in a directory. */
export interface DirectoryEntry {
  readonly name: string;
  /** Of its target, when it is a link. */
  readonly kind: FileKind;
}

/** One name in a directory, and what it is itself. */
export interface DetailedEntry {
  readonly name: string;
  /** A link is a link, wherever it leads. */
  readonly kind: FileKind | "link";
  /** In bytes; of a link, the length of its text. */
  readonly size: number;
  /** Permission bits. */
  readonly mode: number;
}

/** What a path leads to. */
export interface FileStat {
  /** Of its target, when it is a link. */
  readonly kind: FileKind;
  /** The path itself is a symbolic link. */
  readonly isSymlink: boolean;
  readonly size: number;
  /** Permission bits, such as `0o644`. Absent when the server does not tell them. */
  readonly mode: number | undefined;
  /** A time beyond the year 275760, which some file systems can hold, is the last that there is. */
  readonly modified: Date;
  /** Absent when the server's platform does not know. */
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
  const { fileName, isSymlink, mode, size } = found;
  if (isSymlink === undefined || mode === undefined || size === undefined)
    throw new ProtocolError(`the server described ${JSON.stringify(fileName)} without details`);
  return { name: fileName, kind: isSymlink ? "link" : kindOf(found), size, mode: permissionsOf(mode) };
}

/** The bits of a mode that are permissions, whatever else a server puts into it. */
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
