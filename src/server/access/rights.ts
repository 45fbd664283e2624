import { realpathSync } from "node:fs";
import { dirname } from "node:path";
import { UsageError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { AllowedRoots } from "../../capabilities/files/allowed-roots.ts";
import { OwnFiles } from "../../capabilities/files/own-files.ts";
import type { FileAccess } from "../../capabilities/files/file-access.ts";
import { systemDisk } from "../../capabilities/sandbox/view/disk.ts";
import { isWritable } from "../../capabilities/sandbox/view/exposed-file.ts";
import { PathWalk } from "../../capabilities/sandbox/view/path-walk.ts";
import type { ServerFiles } from "../../capabilities/sandbox/view/server-files.ts";
import { ruleSets, type SandboxPolicy } from "../../capabilities/sandbox/policy/sandbox-policy.ts";
import type { Right } from "../../protocol/index.ts";
import type { Sandbox } from "../../protocol/sandbox-options.ts";
import { resolveRunAs, type RunAs } from "./run-as.ts";
import { operatorPolicy, refuseExposed } from "../sandbox/operator-policy.ts";
import { type Preset, PRESET_RIGHTS } from "../settings/presets.ts";
import type { PrincipalLimits, RightsOptions } from "../settings/rights-options.ts";

/** The context of rights besides their options. */
export interface RightsContext extends ServerFiles {
  readonly temporaryDirectory: string | undefined;
  /** Base of relative paths in a policy. Default: the working directory of this program. */
  readonly cwd?: string;
  readonly logger: Logger;
  readonly fsRoots: readonly string[];
}

/** The rights of a client. */
export interface Rights {
  readonly preset: Preset;
  /** Equal for equal rights. */
  readonly key: string;
  /** Equal if what the client starts is confined in the same way, whatever its limits and grants. */
  readonly confinement: string;
  /** The options that they were made from. */
  readonly options: RightsOptions;
  /** The user that runs everything, if not the server's own choice. */
  readonly runAs?: RunAs;
  readonly limits: PrincipalLimits;
  /** Confines everything that the client starts and opens. */
  readonly sandbox?: SandboxPolicy;
  /** The only files within reach. */
  readonly files?: { readonly roots: readonly string[]; readonly access: FileAccess };
  /** Whether the client has a right. */
  allows(right: Right): boolean;
  /** What the grants allow for another principal's kept processes. */
  grant(owner: string): "control" | "follow" | undefined;
}

export const FULL_RIGHTS: Rights = makeRights({ preset: "full" });

/** Throws a UsageError for options that make no sense, or would give more than they say. */
export function createRights(options: RightsOptions, context: RightsContext): Rights {
  return createRightsOnWalk(options, context, new PathWalk(systemDisk));
}

/** The same for one of many, with a walk that looks at each path once for all of them. */
export function createRightsOnWalk(options: RightsOptions, context: RightsContext, walk: PathWalk): Rights {
  const { preset, policy, roots, readOnly, runAs, secrets = [], see = [], control = [] } = options;
  const only = (name: string, value: unknown, wanted: Preset): void => {
    if (value !== undefined && preset !== wanted)
      throw new UsageError(`${name} is for the preset ${wanted}, not for ${preset}`);
  };
  only("policy", policy, "sandboxed");
  only("roots", roots, "files");
  only("read_only", readOnly, "files");
  if (secrets.length > 0 && !PRESET_RIGHTS[preset].has("start"))
    throw new UsageError(`secrets are not for the preset ${preset}, which starts no processes`);
  if (secrets.length > 0 && runAs !== undefined)
    throw new UsageError("secrets are for processes of the server's own user: leave out run_as");
  if (see.length > 0 && preset === "files") throw new UsageError("see is not for the preset files");
  if (control.length > 0 && (preset === "files" || preset === "observe"))
    throw new UsageError(`control is not for the preset ${preset}`);
  return makeRights(options, {
    ...(preset === "sandboxed" ? { sandbox: confiningPolicy(policy, context, walk) } : {}),
    ...(preset === "files"
      ? { files: confiningRoots(roots, readOnly ? { ...context, trustedPaths: [] } : context, walk) }
      : {}),
    ...(runAs === undefined ? {} : { runAs: resolveRunAs(runAs) }),
  });
}

/** The links that a policy led through when it was read. */
export function followedLinks({ sandbox }: Rights): readonly string[] {
  if (sandbox === undefined) return [];
  return ruleSets(sandbox).flatMap(({ rules }) =>
    rules.flatMap((rule) => (rule.kind === "path" ? (rule.followed ?? []) : [])),
  );
}

/** Whether a confined client could replace a path with something else. */
export function canReplace(rights: Rights, path: string): boolean {
  const { sandbox, files } = rights;
  const directory = dirname(path);
  if (files !== undefined)
    return rights.allows("writeFiles") && files.roots.some((root) => isWithin(directory, realPath(root)));
  return sandbox !== undefined && isWritable(sandbox, directory);
}

/** Whether a client may use what was made with other rights of the same principal. */
export function reaches(rights: Rights, made: Rights): boolean {
  return rights.preset === "full" || rights.key === made.key;
}

/** The principal of a named token. */
export function principalNamed(name: string): string {
  return name.includes(":") || name === "*" ? name : `name:${name}`;
}

function makeRights(
  options: RightsOptions,
  confining: Pick<Rights, "sandbox" | "files" | "runAs"> = {},
): Rights {
  const { preset, readOnly = false, limits = {} } = options;
  const see = new Set((options.see ?? []).map(principalNamed));
  const control = new Set((options.control ?? []).map(principalNamed));
  const includes = (list: ReadonlySet<string>, owner: string): boolean => list.has(owner) || list.has("*");
  return {
    preset,
    key: JSON.stringify(options, sortedKeys),
    confinement: JSON.stringify(
      [preset, options.policy, options.roots, readOnly, options.runAs, options.secrets],
      sortedKeys,
    ),
    options,
    limits,
    ...confining,
    allows: (right) => PRESET_RIGHTS[preset].has(right) && !(readOnly && right === "writeFiles"),
    grant: (owner) => (includes(control, owner) ? "control" : includes(see, owner) ? "follow" : undefined),
  };
}

function confiningPolicy(policy: Sandbox | undefined, context: RightsContext, walk: PathWalk): SandboxPolicy {
  if (policy === undefined) throw new UsageError("the preset sandboxed needs a policy");
  const confining = operatorPolicy(policy, context, "policy");
  if (confining === undefined || isOpen(confining))
    throw new UsageError("policy makes everything writable; use the preset full for that");
  refuseExposed(confining, context, { name: "policy", walk });
  return confining;
}

/** Whether everything is writable. */
function isOpen(policy: SandboxPolicy): boolean {
  return ruleSets(policy).every(
    ({ rules }) =>
      rules.some((rule) => rule.kind === "path" && rule.path === "/" && rule.access === "write") &&
      rules.every((rule) => rule.kind === "path" && (rule.access === "write" || rule.path === "/")),
  );
}

/** The server's own files must be out of reach: a client that can rename their parents could read or replace them. */
function confiningRoots(
  roots: readonly string[] | undefined,
  { hiddenPaths, socketPaths = [], trustedPaths = [], fsRoots }: RightsContext,
  walk: PathWalk,
): NonNullable<Rights["files"]> {
  if (roots === undefined || roots.length === 0) throw new UsageError("the preset files needs roots");
  const paths = [...hiddenPaths, ...socketPaths, ...trustedPaths];
  const access = new AllowedRoots(roots, { setting: "roots", own: new OwnFiles(paths) });
  for (const root of roots.map(realPath)) {
    for (const hidden of paths.flatMap((path) => linksAndEnd(path, walk)))
      if (isWithin(hidden, root) || isWithin(root, hidden))
        throw new UsageError(`roots: ${root} contains the server's own file ${hidden}`);
    if (fsRoots.length > 0 && !fsRoots.map(realPath).some((outer) => isWithin(root, outer)))
      throw new UsageError(`roots: ${root} is outside the roots that this server serves (fsRoots)`);
  }
  return { roots, access };
}

function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory === "/" ? "/" : `${directory}/`);
}

/** Paths that can divert a path: the links on its way, and its target. */
function linksAndEnd(path: string, walk: PathWalk): string[] {
  const { path: end, links } = walk.follow(path);
  return [...links.map((link) => link.path), end];
}

/** The path itself if it does not exist. */
function realPath(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}

function sortedKeys(_: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
