import { lstatSync, type Stats, statSync } from "node:fs";
import { statNoFollow } from "./no-follow.ts";
import type { Location } from "./location.ts";

export interface Metadata {
  readonly isDirectory: boolean;
  readonly isFile: boolean;
  /** The path itself is a link. The other members describe its target. */
  readonly isSymlink: boolean;
  readonly size: number;
  readonly modifiedAtMs: number;
  /** Permission bits. */
  readonly mode: number;
}

export function readMetadata(location: Location, options: { followSymlinks: boolean }): Metadata {
  const { path, followSymlinks, isSymlink } = location.check(options);
  if (!followSymlinks) return describe(statNoFollow(path), isSymlink ?? false);
  const own = lstatSync(path);
  return own.isSymbolicLink() ? describe(statSync(path), true) : describe(own, false);
}

export function describe(stat: Stats, isSymlink: boolean): Metadata {
  return {
    isDirectory: stat.isDirectory(),
    isFile: stat.isFile(),
    isSymlink,
    size: stat.size,
    modifiedAtMs: Math.trunc(stat.mtimeMs),
    mode: stat.mode & 0o7777,
  };
}
