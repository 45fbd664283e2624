import { UsageError } from "../base/errors.ts";
import { ForeignPathError, pathFromUri, resolveDots, uriFromPath } from "../base/file-uri.ts";
import { checkText } from "../base/system-text.ts";
import type { FileSystemEntry, SandboxContext, SpecialPath } from "./sandbox.ts";

/** What a process or a file call may access. Paths are on the server's machine; relative ones start at its `cwd`. */
export interface SandboxOptions {
  /**
   * Writable directories, with everything below them, except `.git`, `.agents`, `.codex` and `.aws`, unless they are
   * listed too. A directory that does not exist is not granted. Default: none.
   */
  readonly write?: readonly string[];
  /**
   * What can also be read: `all`, the default, or only these paths and the system's directories that programs need to
   * run. Nothing else is visible then, not even the working directory.
   */
  readonly read?: "all" | readonly string[];
  /**
   * Paths that can be neither read nor written, although their surroundings can. A path with `*`, `?` or `[` is a
   * pattern, in which `**` as a whole name stands for any number of directories. It covers the files that exist when
   * the process starts.
   */
  readonly deny?: readonly string[];
  /** Whether other machines, and servers on this one, can be reached. Default: false. */
  readonly network?: boolean;
}

/** The names of ready-made sandboxes. */
export const SANDBOX_PRESETS = ["read-only", "workspace-write"] as const;

/**
 * A ready-made sandbox. Both can read everything and have no network; `workspace-write` can write to the working
 * directory and to the directories for temporary files.
 */
export type SandboxPreset = (typeof SANDBOX_PRESETS)[number];

/** A sandbox: what may be reached, the name of a ready-made one, or a context of the wire, which is sent as it is. */
export type Sandbox = SandboxOptions | SandboxPreset | SandboxContext;

const OPTIONS = ["write", "read", "deny", "network"];
const PROTECTED_NAMES = [".git", ".agents", ".codex", ".aws"];

const READ_ALL: FileSystemEntry = { path: special({ kind: "root" }), access: "read" };

const PRESETS: Readonly<Record<SandboxPreset, readonly FileSystemEntry[]>> = {
  "read-only": [READ_ALL],
  "workspace-write": [
    READ_ALL,
    { path: special({ kind: "project_roots" }), access: "write" },
    { path: special({ kind: "slash_tmp" }), access: "write" },
    { path: special({ kind: "tmpdir" }), access: "write" },
    ...PROTECTED_NAMES.map(
      (subpath): FileSystemEntry => ({
        path: special({ kind: "project_roots", subpath }),
        access: "read",
        missing_path_behavior: "skip",
      }),
    ),
  ],
};

/** Converts a sandbox to the wire. `cwd` is the URI of the directory that relative paths start at. */
export function sandboxContext(sandbox: Sandbox, cwd: string): SandboxContext {
  if (typeof sandbox === "string") {
    if (!Object.hasOwn(PRESETS, sandbox))
      throw new UsageError(
        `there is no sandbox ${JSON.stringify(sandbox)}; there are ${SANDBOX_PRESETS.join(", ")}`,
      );
    return contextOf([...PRESETS[sandbox]], "restricted", cwd);
  }
  if (typeof sandbox !== "object" || sandbox === null || Array.isArray(sandbox))
    throw new UsageError(`a sandbox must be an object or one of ${SANDBOX_PRESETS.join(", ")}`);
  if ("permissions" in sandbox) return sandbox;
  const { network = false } = sandbox;
  for (const key of Object.keys(sandbox))
    if (!OPTIONS.includes(key))
      throw new UsageError(`a sandbox has no ${JSON.stringify(key)}; it has ${OPTIONS.join(", ")}`);
  if (typeof network !== "boolean") throw new UsageError("network of a sandbox must be true or false");
  return contextOf(entriesOf(sandbox, cwd), network ? "enabled" : "restricted", cwd);
}

function contextOf(
  entries: FileSystemEntry[],
  network: "restricted" | "enabled",
  cwd: string,
): SandboxContext {
  return {
    permissions: { type: "managed", file_system: { type: "restricted", entries }, network },
    cwd,
    workspaceRoots: [cwd],
    windowsSandboxLevel: "disabled",
  };
}

function special(value: SpecialPath): FileSystemEntry["path"] {
  return { type: "special", value };
}

function entriesOf({ write = [], read = "all", deny = [] }: SandboxOptions, cwd: string): FileSystemEntry[] {
  const pathEntry = (option: string, access: FileSystemEntry["access"]) => (path: string) => ({
    path: { type: "path" as const, path: uriFromPath(absolute(option, path, cwd)) },
    access,
  });
  const readable =
    read === "all"
      ? [READ_ALL]
      : [
          { path: special({ kind: "minimal" }), access: "read" as const },
          ...texts("read", read).map(pathEntry("read", "read")),
        ];
  return [
    ...readable,
    ...texts("write", write).map(pathEntry("write", "write")),
    ...texts("deny", deny).map((text) =>
      /[*?[{]/.test(text)
        ? { path: { type: "glob_pattern" as const, pattern: pattern(text, cwd) }, access: "deny" as const }
        : pathEntry("deny", "deny")(text),
    ),
  ];
}

function texts(option: string, list: readonly string[]): readonly string[] {
  if (!Array.isArray(list))
    throw new UsageError(
      `${option} of a sandbox must be ${option === "read" ? '"all" or ' : ""}a list of paths`,
    );
  for (const text of list) {
    checkText(`${option} of a sandbox`, text);
    if (text === "") throw new UsageError(`${option} of a sandbox holds an empty path`);
    if (text.startsWith("file:"))
      throw new UsageError(`${option} of a sandbox holds ${text}; pass a plain path, not a URI`);
    if (text === "~" || text.startsWith("~/"))
      throw new UsageError(`${option} of a sandbox holds ${text}; write the home directory out`);
  }
  return list;
}

function absolute(option: string, path: string, cwd: string): string {
  return resolveDots(path.startsWith("/") ? path : `${directoryOf(cwd, option, path)}/${path}`);
}

/**
 * An absolute pattern with an escaped working directory: Codex's server would treat `/srv/[a]` as a pattern, and let
 * the denied files through.
 */
function pattern(text: string, cwd: string): string {
  if (/[{}]/.test(text.replace(/\[[{}]\]/g, "")))
    throw new UsageError(
      `deny of a sandbox holds ${text}: braces have no meaning in patterns; list each pattern, or write [{]`,
    );
  const whole = resolveDots(
    text.startsWith("/") ? text : `${escapePattern(directoryOf(cwd, "deny", text))}/${text}`,
  );
  // The server searches the directory before the first wildcard, and never the whole disk.
  if (/^\/[^/]*[*?[]/.test(whole))
    throw new UsageError(
      `deny of a sandbox holds ${text}, which begins at the root: name a directory before the first wildcard`,
    );
  return whole;
}

/**
 * The path as a pattern that matches only itself. A backslash becomes a wildcard: whether it escapes depends on where it
 * is.
 */
function escapePattern(path: string): string {
  return path.replace(/[[\]{}*?\\]/g, (character) => (character === "\\" ? "?" : `[${character}]`));
}

function directoryOf(cwd: string, option: string, path: string): string {
  const refuse = (why: string): UsageError =>
    new UsageError(
      `${option} of a sandbox holds ${path}, which is relative, and the working directory ${why}`,
    );
  try {
    const directory = pathFromUri(cwd);
    if (typeof directory === "string") return directory;
    throw refuse("is not UTF-8");
  } catch (error) {
    if (error instanceof ForeignPathError) throw refuse(`is ${error.uri}`);
    throw error;
  }
}
