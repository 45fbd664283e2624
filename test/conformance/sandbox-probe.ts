import { outputOf, shell } from "./process-events.ts";
import type { RawPeer } from "./raw-peer.ts";
import { link, onTree, type Entry as TreeEntry, type TreeContext } from "./temp-tree.ts";

export type Access = "read" | "write" | "deny" | "none";
export type PolicyEntry = Record<string, unknown>;

/** Entries of a policy, as the wire carries them. */
export function special(
  kind: string,
  access: Access,
  value: Record<string, unknown> = {},
  more: PolicyEntry = {},
): PolicyEntry {
  return { path: { type: "special", value: { kind, ...value } }, access, ...more };
}

export function pathEntry(uri: string, access: Access, more: PolicyEntry = {}): PolicyEntry {
  return { path: { type: "path", path: uri }, access, ...more };
}

export function pattern(text: string, access: Access = "deny"): PolicyEntry {
  return { path: { type: "glob_pattern", pattern: text }, access };
}

export const READ_ALL = special("root", "read");
/** What the shell needs to run. */
export const MINIMAL = special("minimal", "read");

export interface ContextOptions {
  /** Members of the context. */
  context?: Record<string, unknown>;
  /** Members of the file system's policy. */
  fileSystem?: Record<string, unknown>;
}

export function sandboxOf(
  entries: readonly PolicyEntry[],
  { context = {}, fileSystem = {} }: ContextOptions = {},
): Record<string, unknown> {
  return {
    permissions: {
      type: "managed",
      file_system: { type: "restricted", entries, ...fileSystem },
      network: "restricted",
    },
    cwd: "file:///",
    workspaceRoots: [],
    windowsSandboxLevel: "disabled",
    ...context,
  };
}

/**
 * Prints what can be done with each path: `r` or `-`, then `w` or `-`; nothing if it is not there. Directories are
 * listed and written to, files read and opened for writing.
 */
const PROBE = `
for path in "$@"; do
  if [ -d "$path" ]; then
    ls -A "$path" > /dev/null 2>&1 && read=r || read=-
    if (: > "$path/.probe") 2> /dev/null; then rm "$path/.probe"; write=w; else write=-; fi
  elif [ -e "$path" ]; then
    cat "$path" > /dev/null 2>&1 && read=r || read=-
    (: >> "$path") 2> /dev/null && write=w || write=-
  else read=; write=
  fi
  echo "$read$write"
done`;

let probes = 0;

/** What a process in a sandbox can do with names of a tree, or with absolute paths. */
export async function accessOf(
  { connection, tree }: { connection: RawPeer; tree: { path(name: string): string } },
  sandbox: Record<string, unknown>,
  names: readonly string[],
  overrides: Record<string, unknown> = {},
): Promise<Record<string, string>> {
  probes += 1;
  const paths = names.map((name) => (name.startsWith("/") ? name : tree.path(name)));
  const argv = ["/bin/sh", "-c", PROBE, "sh", ...paths];
  const output = await outputOf(connection, `probe${probes}`, argv, { sandbox, ...overrides });
  const lines = output.split("\n");
  if (lines.length !== names.length + 1) throw new Error(`the probe says: ${output}`);
  return Object.fromEntries(names.map((name, index) => [name, lines[index] ?? ""]));
}

/** The output of a script that runs in a sandbox, in the root of the tree. */
export async function scriptIn(
  { connection, tree }: TreeContext,
  sandbox: Record<string, unknown>,
  script: string,
): Promise<string> {
  probes += 1;
  return outputOf(connection, `probe${probes}`, shell(script), { sandbox, cwd: tree.uri() });
}

/** A workspace with everything that policies are about, and a directory beside it. */
export const WORKSPACE: { [name: string]: TreeEntry } = {
  ws: {
    f: "f",
    "a.env": "secret",
    sub: { "b.env": "secret", deep: { "c.env": "secret" } },
    link: link("../other"),
  },
  other: { o: "o" },
};

export { onTree, type TreeContext };
