import { existsSync } from "node:fs";
import { RpcError, UsageError } from "../../base/errors.ts";
import { uriFromPath } from "../../base/file-uri.ts";
import type { Logger } from "../../base/logger.ts";
import { ruleSets, type SandboxPolicy } from "../../capabilities/sandbox/policy/sandbox-policy.ts";
import { type Sandbox, sandboxContext } from "../../protocol/sandbox-options.ts";
import { sandboxPolicy } from "./sandbox-context.ts";

/**
 * The policy for all clients of a server. Relative paths start at the server's own directory: clients choose those of
 * their processes. Throws a UsageError for a sandbox that makes no sense.
 */
export function operatorPolicy(
  sandbox: Sandbox,
  {
    temporaryDirectory,
    cwd = process.cwd(),
    logger,
  }: { temporaryDirectory: string | undefined; cwd?: string | undefined; logger: Logger },
): SandboxPolicy | undefined {
  const context = sandboxContext(sandbox, uriFromPath(cwd));
  try {
    const policy = sandboxPolicy(context, { kind: "process", cwd: () => cwd, temporaryDirectory });
    if (policy !== undefined) warnOfMissing(policy, logger);
    return policy;
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    throw new UsageError(`the sandbox of the server is invalid: ${error.message}`);
  }
}

/** They are not granted, which an operator who misspelled one would be long in finding out. */
function warnOfMissing(policy: SandboxPolicy, logger: Logger): void {
  for (const { rules } of ruleSets(policy))
    for (const rule of rules)
      if (rule.kind === "path" && rule.access === "write" && !existsSync(rule.path))
        logger.warn("a directory that the sandbox makes writable does not exist", { path: rule.path });
}
