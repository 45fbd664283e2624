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

/** What a path leads to. */
export interface FileStat {
  /** Of its target, when it is a link. */
  readonly kind: FileKind;
  /** The path itself is a symbolic link. */
  readonly isSymlink: boolean;
  readonly size: number;
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
    modified: dateOf(found.modifiedAtMs),
    created: found.createdAtMs === 0 ? undefined : dateOf(found.createdAtMs),
  };
}

export function kindOf({ isFile, isDirectory }: { isFile: boolean; isDirectory: boolean }): FileKind {
  if (isFile) return "file";
  return isDirectory ? "directory" : "other";
}

function dateOf(ms: number): Date {
  return new Date(Math.min(Math.max(ms, -MAX_DATE_MS), MAX_DATE_MS));
}
