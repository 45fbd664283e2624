import { existsSync } from "node:fs";
import { RpcError, UsageError } from "../../base/errors.ts";
import { uriFromPath } from "../../base/file-uri.ts";
import type { Logger } from "../../base/logger.ts";
import {
  ruleSets,
  type SandboxPolicy,
  SandboxRefusal,
} from "../../capabilities/sandbox/policy/sandbox-policy.ts";
import { exposedFile } from "../../capabilities/sandbox/view/exposed-file.ts";
import { systemDisk } from "../../capabilities/sandbox/view/disk.ts";
import { PathWalk } from "../../capabilities/sandbox/view/path-walk.ts";
import type { ServerFiles } from "../../capabilities/sandbox/view/server-files.ts";
import { type Sandbox, sandboxContext } from "../../protocol/sandbox-options.ts";
import { sandboxPolicy } from "./sandbox-context.ts";

/**
 * The policy for all clients of a server, or of a token, which `name` names. Relative paths start at the server's own
 * directory, because clients choose those of their processes. Throws a UsageError for an invalid sandbox.
 */
export function operatorPolicy(
  sandbox: Sandbox,
  {
    temporaryDirectory,
    cwd = process.cwd(),
    logger,
  }: { temporaryDirectory: string | undefined; cwd?: string | undefined; logger: Logger },
  name: string,
): SandboxPolicy | undefined {
  const context = sandboxContext(sandbox, uriFromPath(cwd));
  try {
    const policy = sandboxPolicy(context, { kind: "process", cwd: () => cwd, temporaryDirectory });
    if (policy === undefined) return undefined;
    warnOfMissing(policy, logger);
    return settle(policy);
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    throw new UsageError(`${name} is invalid: ${error.message}`);
  }
}

/**
 * Throws a UsageError for a policy under which a client could reach a file of the server. `walk` may have looked at the
 * files already.
 */
export function refuseExposed(
  policy: SandboxPolicy,
  files: ServerFiles,
  { name, walk = new PathWalk(systemDisk) }: { name: string; walk?: PathWalk },
): void {
  try {
    const fault = exposedFile(policy, files, { disk: systemDisk, walk });
    if (fault !== undefined) throw new UsageError(`${name} ${fault}`);
  } catch (error) {
    if (error instanceof SandboxRefusal) throw new UsageError(`${name} is invalid: ${error.message}`);
    throw error;
  }
}

/** Follows links once: a client that could replace one would decide what others may do. */
function settle(policy: SandboxPolicy): SandboxPolicy {
  if (policy.files === "unrestricted") return policy;
  const walk = new PathWalk(systemDisk);
  const rules = policy.files.rules.map((rule) => {
    if (rule.kind === "glob" || rule.access === "deny") return rule;
    const { whole, links } = walk.follow(rule.path);
    return { ...rule, path: whole, followed: links.map((link) => link.path) };
  });
  return { ...policy, files: { ...policy.files, rules } };
}

/** They are not granted; without a warning, a misspelling would be hard to find. */
function warnOfMissing(policy: SandboxPolicy, logger: Logger): void {
  for (const { rules } of ruleSets(policy))
    for (const rule of rules)
      if (rule.kind === "path" && rule.access === "write" && !existsSync(rule.path))
        logger.warn("a directory that the sandbox makes writable does not exist", { path: rule.path });
}
