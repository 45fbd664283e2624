import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { type BytePath, fromDisk, joinPath, onDisk } from "./byte-path.ts";

/** Everything below a directory, by path relative to it: kind, permissions, and contents or what a link says. */
export type TreeSnapshot = ReadonlyMap<BytePath, string>;

/** `home` is shown as `~` in absolute links, so that trees in different places can be compared. */
export function takeSnapshot(root: BytePath, home: BytePath = root): TreeSnapshot {
  const snapshot = new Map<BytePath, string>();
  const visit = (relative: BytePath): void => {
    const path = joinPath(root, relative);
    snapshot.set(relative, describeEntry(path, home));
    if (!lstatSync(onDisk(path)).isDirectory()) return;
    for (const name of namesIn(path)) visit(relative === "" ? name : joinPath(relative, name));
  };
  visit("");
  return snapshot;
}

export const namesIn = (directory: BytePath): BytePath[] =>
  readdirSync(onDisk(directory), { encoding: "buffer" })
    .map((name) => fromDisk(name))
    .sort();

function describeEntry(path: BytePath, home: BytePath): string {
  const stat = lstatSync(onDisk(path));
  const mode = (stat.mode & 0o7777).toString(8);
  if (stat.isDirectory()) return `directory ${mode}`;
  if (stat.isFile()) return `file ${mode} ${fromDisk(readFileSync(onDisk(path)))}`;
  if (stat.isSymbolicLink())
    return `link ${fromDisk(readlinkSync(onDisk(path), { encoding: "buffer" })).replace(home, "~")}`;
  return stat.isFIFO() ? `fifo ${mode}` : `socket ${mode}`;
}
