import { isSame } from "../file-content.ts";

/** What saving must do, given the current bytes on the disk; undefined there means the file is gone. */
export function judgeSave(
  base: Uint8Array,
  disk: Uint8Array | undefined,
  mine: Uint8Array,
): "write" | "done" | "conflict" {
  if (disk === undefined) return "write";
  if (isSame(disk, mine)) return "done";
  return isSame(disk, base) ? "write" : "conflict";
}

/** The effect of a change on the disk on an open file. */
export function judgeChange(
  base: Uint8Array,
  disk: Uint8Array | undefined,
  isChangedHere: boolean,
): "nothing" | "reload" | "conflict" | "gone" {
  if (disk === undefined) return "gone";
  if (isSame(disk, base)) return "nothing";
  return isChangedHere ? "conflict" : "reload";
}

/** The part of a text that must be replaced to turn it into another one. */
export function differenceOf(
  before: string,
  after: string,
): { readonly from: number; readonly to: number; readonly insert: string } {
  const shorter = Math.min(before.length, after.length);
  let from = 0;
  while (from < shorter && before[from] === after[from]) from++;
  let same = 0;
  while (same < shorter - from && before[before.length - 1 - same] === after[after.length - 1 - same]) same++;
  return { from, to: before.length - same, insert: after.slice(from, after.length - same) };
}
