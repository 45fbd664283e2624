import { invalidParams } from "../wire/refusals.ts";
import { CapabilityError, RpcError } from "../../base/errors.ts";
import { PathUriError } from "../../base/file-uri.ts";
import {
  dependsOnDirectory,
  type PolicyEntry,
  type PolicyTarget,
  resolvePolicy,
  type SandboxPermissions,
} from "../../capabilities/sandbox/policy/resolve-policy.ts";
import type { SandboxPolicy } from "../../capabilities/sandbox/policy/sandbox-policy.ts";
import { RpcCode } from "../../protocol/errors.ts";
import type {
  FileSystemPath,
  PermissionProfile,
  SandboxContext,
  SpecialPath,
} from "../../protocol/sandbox.ts";
import { decodePath, pathFromParam } from "../wire/path-param.ts";

/** The request that brings a context. */
export type SandboxSubject =
  | {
      readonly kind: "process";
      /** Its working directory, for contexts without one. It is checked after the context. */
      readonly cwd: () => string;
      /** TMPDIR of its environment. */
      readonly temporaryDirectory: string | undefined;
    }
  | { readonly kind: "files"; readonly temporaryDirectory: string | undefined };

/** Leaves files as they are. */
const NO_NETWORK: SandboxPolicy = { files: "unrestricted", network: "restricted" };

/** Ten times what a sandbox can mount. */
const MAX_CONTEXT_PATHS = 10_000;

type Managed = Extract<PermissionProfile, { type: "managed" }>;

/**
 * The policy that a context requests; undefined if it requests none. Codes, texts and the order of checks are those of
 * the wire: a process and a file call word the same fault differently.
 */
export function sandboxPolicy(context: SandboxContext, subject: SandboxSubject): SandboxPolicy | undefined {
  const count = countPaths(context);
  // Before any of them is decoded.
  if (count > MAX_CONTEXT_PATHS)
    throw invalidParams(`a sandbox context has at most ${MAX_CONTEXT_PATHS} paths, this one has ${count}`);
  decodePaths(context);
  const { permissions } = context;
  const managed = permissions.type === "managed" ? permissions : undefined;
  if (subject.kind === "process") {
    const cwdUri = cwdOf(context);
    const policyCwd = cwdUri === undefined ? undefined : native(cwdUri, unprepared("policy cwd"));
    const workspaceRoots = rootsOf(context).map((uri) => native(uri, unprepared("workspace root")));
    const wanted = managed === undefined ? undefined : permissionsOf(managed, unprepared("permission path"));
    const cwd = policyCwd ?? subject.cwd();
    if (wanted === undefined)
      return permissions.type === "external" && permissions.network === "restricted" ? NO_NETWORK : undefined;
    refuseLandlock(context, wanted, invalidParams);
    return resolvePolicy(wanted, {
      cwd,
      workspaceRoots,
      realRoots: context.realRoots,
      temporaryDirectory: subject.temporaryDirectory,
    });
  }
  if (managed === undefined) return undefined;
  const cwdUri = cwdOf(context);
  if (cwdUri === undefined && isDynamic(managed))
    throw invalidParams("file system sandbox context with dynamic permissions requires cwd");
  const wanted = permissionsOf(managed, (why) => invalidInput(`invalid sandbox permission path URI: ${why}`));
  if (wanted.files === "unrestricted") return resolvePolicy(wanted, NOWHERE);
  const cwd = cwdUri === undefined ? "/" : native(cwdUri, invalidInput);
  const workspaceRoots = rootsOf(context).map((uri) =>
    native(uri, (why) =>
      invalidInput(`file system sandbox workspace root is not native to this exec-server host: ${why}`),
    ),
  );
  refuseLandlock(context, wanted, (message) => new RpcError(RpcCode.internal, message));
  const { realRoots } = context;
  return resolvePolicy(wanted, {
    cwd,
    workspaceRoots,
    realRoots,
    temporaryDirectory: subject.temporaryDirectory,
  });
}

const NOWHERE = { cwd: "/", workspaceRoots: [], temporaryDirectory: undefined };

type MakeError = (message: string) => Error;

function invalidInput(message: string): Error {
  return new CapabilityError("INVALID_INPUT", message);
}

function unprepared(part: string): MakeError {
  return (why) => invalidParams(`failed to prepare process sandbox: invalid sandbox ${part}: ${why}`);
}

/** A policy context replaces the outer values, and has no roots unless it names them. */
function cwdOf({ cwd, policyContext }: SandboxContext): string | undefined {
  return policyContext?.cwd ?? cwd ?? undefined;
}

function rootsOf({ workspaceRoots, policyContext }: SandboxContext): readonly string[] {
  return (policyContext ? policyContext.workspaceRoots : workspaceRoots) ?? [];
}

/** Number of paths in a context. Entries that stand for every workspace root multiply. */
export function countPaths(context: SandboxContext): number {
  const { permissions, workspaceRoots, temporaryDirectories, policyContext } = context;
  const entries =
    permissions.type === "managed" && permissions.file_system.type === "restricted"
      ? permissions.file_system.entries
      : [];
  const lists = [entries, workspaceRoots, temporaryDirectories, policyContext?.workspaceRoots];
  const forEveryRoot = entries.filter(
    ({ path }) => path.type === "special" && specialTarget(path.value).kind === "projectRoots",
  );
  return (
    lists.reduce((sum, list) => sum + (list?.length ?? 0), 0) + forEveryRoot.length * rootsOf(context).length
  );
}

/** Values that are not paths at all are refused first, wherever they are, used or not. */
function decodePaths(context: SandboxContext): void {
  const { permissions, cwd, workspaceRoots, userHomeDir, temporaryDirectories, policyContext } = context;
  const uris = [cwd, userHomeDir, policyContext?.cwd];
  for (const list of [workspaceRoots, temporaryDirectories, policyContext?.workspaceRoots])
    for (const uri of list ?? []) uris.push(uri);
  if (permissions.type === "managed" && permissions.file_system.type === "restricted")
    for (const { path } of permissions.file_system.entries) if (path.type === "path") uris.push(path.path);
  for (const uri of uris) {
    if (typeof uri !== "string") continue;
    try {
      pathFromParam(uri);
    } catch (error) {
      if (error instanceof PathUriError) throw invalidParams(error.message);
      // Other faults depend on how the path is used.
    }
  }
}

function native(uri: string, fail: MakeError): string {
  const path = decodePath(uri, ({ message }) => fail(message));
  if (typeof path !== "string") throw fail(`'${uri}' is not UTF-8, which a sandbox requires`);
  return path;
}

function isDynamic({ file_system }: Managed): boolean {
  if (file_system.type === "unrestricted") return false;
  const entries = file_system.entries
    .filter(({ path }) => path.type !== "path")
    .map(({ path, access }) => ({ target: targetOf(path, invalidParams), access: accessOf(access) }));
  return dependsOnDirectory({ files: { entries }, network: "restricted" });
}

function permissionsOf({ file_system, network }: Managed, fail: MakeError): SandboxPermissions {
  if (file_system.type === "unrestricted") return { files: "unrestricted", network };
  const { entries, glob_scan_max_depth: globScanMaxDepth } = file_system;
  return {
    files: {
      entries: entries.map(({ path, access }) => ({
        target: targetOf(path, fail),
        access: accessOf(access),
      })),
      ...(globScanMaxDepth === undefined || globScanMaxDepth === null ? {} : { globScanMaxDepth }),
    },
    network,
  };
}

function accessOf(access: PolicyEntry["access"] | "none"): PolicyEntry["access"] {
  return access === "none" ? "deny" : access;
}

function targetOf(path: FileSystemPath, fail: MakeError): PolicyTarget {
  switch (path.type) {
    case "path":
      return { kind: "path", path: native(path.path, fail) };
    case "glob_pattern":
      return { kind: "glob", pattern: path.pattern };
    case "special":
      return specialTarget(path.value);
  }
}

function specialTarget(special: SpecialPath): PolicyTarget {
  switch (special.kind) {
    case "project_roots":
    case "current_working_directory":
      return { kind: "projectRoots", subpath: special.subpath ?? "" };
    case "minimal":
      return { kind: "systemDirectories" };
    case "tmpdir":
      return { kind: "temporaryDirectory" };
    case "slash_tmp":
      return { kind: "slashTmp" };
    case "root":
    case "unknown":
      return { kind: special.kind };
  }
}

/** The older mechanism cannot keep a process away from sockets. It is enough only where every file is writable. */
function refuseLandlock(
  { useLegacyLandlock }: SandboxContext,
  { files }: SandboxPermissions,
  fail: MakeError,
): void {
  if (useLegacyLandlock !== true || files === "unrestricted") return;
  const isRoot = ({ kind, ...target }: PolicyTarget) =>
    kind === "root" || (kind === "path" && "path" in target && target.path === "/");
  const writesAll =
    files.entries.every(({ access }) => access === "write") &&
    files.entries.some(({ target }) => isRoot(target));
  if (!writesAll)
    throw fail("filesystem-restricted execution requires bubblewrap to isolate app-server sockets");
}
