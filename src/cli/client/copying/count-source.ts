import { lstat, readdir } from "node:fs/promises";
import { join, posix } from "node:path";
import { type CopyLocation, describeStats, statAt } from "./copy-location.ts";

/** Amount of data to copy. */
export interface Total {
  files: number;
  bytes: number;
}

/**
 * Counts the files of a source, without links and special files. It runs beside the copy, to show how much is left;
 * what cannot be read is left to the copy to report.
 */
export async function countSource(source: CopyLocation, total: Total, signal: AbortSignal): Promise<void> {
  const add = ({ kind, size }: { readonly kind: string; readonly size: number }): void => {
    if (kind !== "file") return;
    total.files += 1;
    total.bytes += size;
  };
  const root = await statAt(source);
  add(root);
  const directories = root.kind === "directory" ? [source.path] : [];
  for (let path = directories.pop(); path !== undefined && !signal.aborted; path = directories.pop())
    for (const entry of await entriesOf(source, path, signal)) {
      add(entry);
      if (entry.kind === "directory") directories.push(entry.path);
    }
}

async function entriesOf({ files }: CopyLocation, path: string, signal: AbortSignal) {
  if (files !== undefined) {
    const entries = await files.listDetails(path, { signal });
    return entries.map(({ name, kind, size }) => ({ path: posix.join(path, name), kind, size }));
  }
  const entries = [];
  for (const name of await readdir(path)) {
    const inner = join(path, name);
    entries.push({ path: inner, ...describeStats(await lstat(inner)) });
  }
  return entries;
}
