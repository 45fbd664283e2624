import { lstatSync, realpathSync, type Stats, statSync } from "node:fs";
import type { NativePath } from "./native-path.ts";
import { statNoFollow } from "./no-follow.ts";

export interface Metadata {
  readonly isDirectory: boolean;
  readonly isFile: boolean;
  /** The path itself is a link. The rest describes what it leads to. */
  readonly isSymlink: boolean;
  readonly size: number;
  readonly modifiedAtMs: number;
}

export function readMetadata(path: NativePath, { followSymlinks }: { followSymlinks: boolean }): Metadata {
  if (!followSymlinks) return describe(statNoFollow(path), false);
  const own = lstatSync(path);
  return own.isSymbolicLink() ? describe(statSync(path), true) : describe(own, false);
}

function describe(stat: Stats, isSymlink: boolean): Metadata {
  return {
    isDirectory: stat.isDirectory(),
    isFile: stat.isFile(),
    isSymlink,
    size: stat.size,
    modifiedAtMs: Math.trunc(stat.mtimeMs),
  };
}

/** The path without any link in it. */
export function canonicalize(path: NativePath): NativePath {
  const real = realpathSync.native(path, { encoding: "buffer" });
  const text = real.toString("utf8");
  return Buffer.from(text).equals(real) ? text : real;
}
