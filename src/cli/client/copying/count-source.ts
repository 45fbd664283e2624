import type { Stats } from "node:fs";
import { lstat, readdir, stat } from "node:fs/promises";
import { join, posix } from "node:path";
import type { CopyLocation } from "./copy-location.ts";

/** What there is to copy. */
export interface Total {
  files: number;
  bytes: number;
}

/**
 * Counts the files of a source, without links and special files. It runs beside the copy, to show how much is left;
 * what cannot be read is left to the copy to report.
 */
export async function countSource(source: CopyLocation, total: Total, signal: AbortSignal): Promise<void> {
  const { kind, size } = await rootOf(source);
  if (kind === "file") {
    total.files += 1;
    total.bytes += size;
  }
  const directories = kind === "directory" ? [source.path] : [];
  for (let path = directories.pop(); path !== undefined && !signal.aborted; path = directories.pop()) {
    for (const entry of await entriesOf(source, path, signal)) {
      if (entry.kind === "directory") directories.push(entry.path);
      if (entry.kind !== "file") continue;
      total.files += 1;
      total.bytes += entry.size;
    }
  }
}

interface Entry {
  readonly path: string;
  readonly kind: string;
  readonly size: number;
}

async function rootOf({ files, path }: CopyLocation): Promise<{ kind: string; size: number }> {
  if (files !== undefined) return files.stat(path);
  const found = await stat(path);
  return { kind: kindOf(found), size: found.size };
}

async function entriesOf({ files }: CopyLocation, path: string, signal: AbortSignal): Promise<Entry[]> {
  if (files !== undefined) {
    const entries = await files.listDetails(path, { signal });
    return entries.map(({ name, kind, size }) => ({ path: posix.join(path, name), kind, size }));
  }
  const names = await readdir(path);
  const found: Entry[] = [];
  for (const name of names) {
    const inner = join(path, name);
    const own = await lstat(inner);
    found.push({ path: inner, kind: kindOf(own), size: own.size });
  }
  return found;
}

function kindOf(found: Stats): string {
  return found.isDirectory() ? "directory" : found.isFile() ? "file" : "other";
}
