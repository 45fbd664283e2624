import type { Files } from "../../client/browser.ts";
import type { Entry } from "./entries.ts";

export interface TreeCount {
  readonly files: number;
  readonly directories: number;
  /** The count is incomplete: the server stops counting, or cannot read everything. */
  readonly isPartial: boolean;
}

/** Counts the contents of directories. */
export async function countTrees(files: Files, paths: readonly string[]): Promise<TreeCount> {
  let [fileCount, directoryCount, isPartial] = [0, 0, false];
  for (const path of paths) {
    try {
      const { entries, errors, truncated } = await files.walk(path);
      const filesInside = entries.filter(({ kind }) => kind === "file").length;
      fileCount += filesInside;
      directoryCount += entries.length - filesInside;
      isPartial ||= truncated || errors.length > 0;
    } catch {
      isPartial = true;
    }
  }
  return { files: fileCount, directories: directoryCount, isPartial };
}

/** Describes what a deletion removes. */
export function removalText(entries: readonly Entry[], inside: TreeCount): string {
  const directories = entries.filter(({ kind }) => kind === "directory").length;
  const end = "This cannot be undone.";
  if (directories === 0) {
    const isLink = entries.length === 1 && entries[0]!.kind === "link";
    return isLink ? `Only the link is deleted, not its target. ${end}` : end;
  }
  const isEmpty = inside.files === 0 && inside.directories === 0 && !inside.isPartial;
  const what = directories === 1 ? "The directory" : `${directories} directories`;
  if (isEmpty) return `${what} ${directories === 1 ? "is" : "are"} empty. ${end}`;
  const parts = [counted(inside.files, "file", "files")];
  if (inside.directories > 0) parts.push(counted(inside.directories, "directory", "directories"));
  const how = inside.isPartial ? "at least " : "";
  return `${what} will be deleted with everything inside: ${how}${parts.join(" in ")}. ${end}`;
}

function counted(count: number, one: string, many: string): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}
