import type { TreeOptions, TreeResult } from "../../../client/files/trees.ts";
import type { CopyLocation } from "./copy-location.ts";

/** Small files are limited by the number of requests under way, not by bytes. */
export const COPY_CONCURRENCY = 24;

/** Copies from one location to another, at least one of which is on a server. */
export function copyBetween(
  source: CopyLocation,
  destination: CopyLocation,
  options: TreeOptions,
): Promise<TreeResult> {
  const [from, to] = [source.files, destination.files];
  if (from === undefined) return to!.upload(source.path, destination.path, options);
  if (to === undefined) return from.download(source.path, destination.path, options);
  return from.transfer(source.path, to, destination.path, options);
}
