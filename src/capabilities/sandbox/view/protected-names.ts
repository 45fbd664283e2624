import type { Disk } from "./disk.ts";
import { childOf } from "./path-names.ts";
import type { PathWalk } from "./path-walk.ts";

/** Names that decide how later, unconfined programs behave; they are read-only in every writable root. */
const PROTECTED_NAMES = [".git", ".agents", ".codex", ".aws"];

export function isProtectedName(path: string): boolean {
  return PROTECTED_NAMES.includes(path.slice(path.lastIndexOf("/") + 1));
}

/** Paths in a writable root that are read-only unless a rule names them, whether they exist or not. */
export function protectedPaths(root: string, walk: PathWalk, disk: Disk): string[] {
  const paths = PROTECTED_NAMES.map((name) => childOf(root, name));
  return [...paths, ...gitDirectories(childOf(root, ".git"), walk, disk)];
}

/** A worktree's `.git` is a file that names its directory, which in turn names the repository's. */
function gitDirectories(git: string, walk: PathWalk, disk: Disk): string[] {
  if (walk.entryAt(git)?.kind !== "file") return [];
  const pointed = /^gitdir: ([^\0\n]+)$/m.exec(disk.text(git) ?? "")?.[1]?.trimEnd();
  if (pointed === undefined) return [];
  const directory = absolute(pointed, git.slice(0, git.lastIndexOf("/")));
  const common = disk.text(childOf(directory, "commondir"))?.trimEnd();
  return common === undefined || common === "" ? [directory] : [directory, absolute(common, directory)];
}

function absolute(path: string, base: string): string {
  return path.startsWith("/") ? path : `${base}/${path}`;
}
