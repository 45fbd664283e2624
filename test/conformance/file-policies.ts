import type { TempTree } from "./temp-tree.ts";

type Access = "read" | "write" | "deny";
type Entry = Record<string, unknown>;

/** Entries of a policy. */
export const path = (uri: string, access: Access): Entry => ({ path: { type: "path", path: uri }, access });
export const special = (kind: string, access: Access): Entry => ({
  path: { type: "special", value: { kind } },
  access,
});
export const pattern = (text: string): Entry => ({
  path: { type: "glob_pattern", pattern: text },
  access: "deny",
});

/** The context of a request, for a directory of a tree. */
export function context(
  cwd: string | null,
  permissions: Record<string, unknown>,
): { sandbox: Record<string, unknown> } {
  return { sandbox: { permissions, cwd, workspaceRoots: [], windowsSandboxLevel: "disabled" } };
}

/** A managed policy with these entries. */
export function policy(cwd: string | null, ...entries: Entry[]): { sandbox: Record<string, unknown> } {
  const fileSystem = { type: "restricted", entries };
  return context(cwd, { type: "managed", file_system: fileSystem, network: "restricted" });
}

/** Reads the disk, and writes only the directory `in` of the tree. */
export function writesInside(tree: TempTree, ...more: Entry[]): { sandbox: Record<string, unknown> } {
  return policy(tree.uri("in"), special("root", "read"), path(tree.uri("in"), "write"), ...more);
}

/** Sees nothing of the tree but its directory `in`, which it may write. */
export function seesInside(tree: TempTree, ...more: Entry[]): { sandbox: Record<string, unknown> } {
  return policy(tree.uri("in"), path(tree.uri("in"), "write"), ...more);
}
