import { resolveDots } from "../../../base/file-uri.ts";
import { escapeGlob } from "./glob-pattern.ts";
import type { FileAccess, FileRule, NetworkMode, SandboxPolicy } from "./sandbox-policy.ts";

/** Permissions as a client words them: targets have names that depend on the request. */
export interface SandboxPermissions {
  readonly files:
    | "unrestricted"
    | { readonly entries: readonly PolicyEntry[]; readonly globScanMaxDepth?: number };
  readonly network: NetworkMode;
}

export interface PolicyEntry {
  readonly target: PolicyTarget;
  readonly access: FileAccess;
}

export type PolicyTarget =
  | { readonly kind: "path"; readonly path: string }
  /** Relative patterns start at the working directory. Only denials have an effect. */
  | { readonly kind: "glob"; readonly pattern: string }
  | { readonly kind: "projectRoots"; readonly subpath?: string }
  | { readonly kind: "root" | "systemDirectories" | "temporaryDirectory" | "slashTmp" }
  /** A target that only newer clients know: grants nothing. */
  | { readonly kind: "unknown" };

/** Paths that named targets stand for. */
export interface PolicySurroundings {
  readonly cwd: string;
  readonly workspaceRoots: readonly string[];
  /** Whether a link on the way to one of these roots is refused. */
  readonly realRoots?: boolean | undefined;
  /** TMPDIR of the process. */
  readonly temporaryDirectory: string | undefined;
}

/** Whether permissions depend on the working directory. */
export function dependsOnDirectory({ files }: SandboxPermissions): boolean {
  if (files === "unrestricted") return false;
  return files.entries.some(
    ({ target }) =>
      target.kind === "projectRoots" || (target.kind === "glob" && !target.pattern.startsWith("/")),
  );
}

export function resolvePolicy(
  { files, network }: SandboxPermissions,
  surroundings: PolicySurroundings,
): SandboxPolicy {
  if (files === "unrestricted") return { files, network };
  const { entries, globScanMaxDepth } = files;
  return {
    files: {
      rules: entries.flatMap((entry) => rulesOf(entry, surroundings)),
      systemDirectories: entries.some(
        ({ target, access }) => target.kind === "systemDirectories" && access !== "deny",
      ),
      ...(globScanMaxDepth === undefined ? {} : { globScanMaxDepth }),
    },
    network,
  };
}

function rulesOf({ target, access }: PolicyEntry, surroundings: PolicySurroundings): FileRule[] {
  const { cwd, workspaceRoots, realRoots = false, temporaryDirectory } = surroundings;
  if (target.kind === "glob") {
    if (access !== "deny") return [];
    return [{ kind: "glob", pattern: absolutePattern(cwd, target.pattern), access }];
  }
  const paths = pathsOf(target, workspaceRoots, temporaryDirectory);
  // Below a root, a name such as `.git` may be a link.
  const isReal = realRoots && target.kind === "projectRoots" && (target.subpath ?? "") === "";
  return paths.map((path) => ({ kind: "path", path, access, ...(isReal ? { followed: [] } : {}) }));
}

function pathsOf(
  target: Exclude<PolicyTarget, { kind: "glob" }>,
  workspaceRoots: readonly string[],
  temporaryDirectory: string | undefined,
): string[] {
  switch (target.kind) {
    case "path":
      return [target.path];
    case "root":
      return ["/"];
    case "slashTmp":
      return ["/tmp"];
    case "temporaryDirectory":
      return temporaryDirectory?.startsWith("/") === true ? [resolveDots(temporaryDirectory)] : [];
    case "projectRoots": {
      const { subpath = "" } = target;
      return isPlain(subpath) ? workspaceRoots.map((root) => resolveDots(`${root}/${subpath}`)) : [];
    }
    case "systemDirectories":
    case "unknown":
      return [];
  }
}

/** Whether a subpath stays below its root; others are refused. */
function isPlain(subpath: string): boolean {
  return !/^\/|(?:^|\/)\.{1,2}(?:\/|$)/.test(subpath);
}

/** Wildcards in the directory's own name are escaped. */
function absolutePattern(cwd: string, pattern: string): string {
  if (pattern === "" || pattern.startsWith("/")) return pattern;
  return `${cwd === "/" ? "" : escapeGlob(cwd)}/${pattern}`;
}
