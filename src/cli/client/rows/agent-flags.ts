import { type Command, Option } from "commander";
import type { NamedSecret } from "../../../client/process/start-request.ts";
import type { Host } from "../../../client/host/host.ts";
import { SANDBOX_PRESETS, type SandboxPreset } from "../../../protocol/sandbox-options.ts";
import type { AgentCommands, AgentWorkOptions } from "../../../rows/agents/agent-work.ts";
import { isSecret } from "../../../rows/agents/model/hidden-key.ts";
import { defined } from "../../shared/defined.ts";
import { usageFailure } from "../../shared/failure.ts";
import { parseCount, repeated } from "../arguments.ts";
import {
  type StartFlags,
  variables,
  variablesForModels,
  workingDirectory,
} from "../running/start-options.ts";
import { namedSecrets, ownSecretValues, withSecrets } from "../running/secret-flags.ts";
import { openTarget } from "../target/connect-target.ts";
import { resolveTarget } from "../target/resolve-target.ts";
import { targetName } from "../target/target.ts";
import type { TargetOptions } from "../target/target-options.ts";

/** Options that say how far agents may go, and how their commands run. */
export interface AgentFlags extends TargetOptions, Pick<StartFlags, "cwd" | "env" | "secret"> {
  readonly maxTurns?: number;
  readonly maxToolCalls?: number;
  readonly maxTokensTotal?: number;
  readonly sandbox?: SandboxPreset | "none";
}

/** Adds these options. `each`: what the limits are for, such as ` for each row`. */
export function withAgent(command: Command, each = ""): Command {
  return withSecrets(command, "commands")
    .option(
      "--max-tokens-total <N>",
      "stop asking for turns once a run has used this many tokens",
      parseCount,
    )
    .option("--max-turns <N>", `model turns${each} [default: 100]`, parseCount)
    .option("--max-tool-calls <N>", `tool calls${each} [default: 200]`, parseCount)
    .option("--cwd <DIR>", "working directory of the commands")
    .option("--env <K=V>", "set a variable for commands; K alone copies yours (repeatable)", repeated)
    .addOption(
      new Option("--sandbox <NAME>", "confine the commands [default: workspace-write]").choices([
        ...SANDBOX_PRESETS,
        "none",
      ]),
    );
}

/** Limits of agents. */
export function agentLimits({
  maxTurns,
  maxToolCalls,
  maxTokensTotal,
}: AgentFlags): Pick<AgentWorkOptions, "maxTurns" | "maxToolCalls" | "maxTokensTotal"> {
  return defined({ maxTurns, maxToolCalls, maxTokensTotal });
}

/** Connects to where the commands of agents run. */
export async function openAgentHost(
  flags: AgentFlags,
  apiKey: string | undefined,
): Promise<{ readonly host: Host; readonly hostName: string; readonly commands: AgentCommands }> {
  const target = await resolveTarget(flags);
  const isOwn = target.kind === "own";
  const own = isOwn ? ownSecretValues(flags.secret) : [];
  const env = { ...Object.fromEntries(own), ...agentEnvironment(flags.env ?? [], { isOwn, apiKey }) };
  const host = await openTarget(target, flags, "session");
  const cwd = workingDirectory({ host, isOwn }, flags.cwd);
  const commands = defined({ env, cwd, sandbox: flags.sandbox, secrets: agentSecrets(flags) });
  return { host, hostName: targetName(target), commands };
}

/** What the commands of agents use and do not have. */
export function agentSecrets({ secret }: AgentFlags): readonly NamedSecret[] | undefined {
  return secret === undefined ? undefined : namedSecrets(secret);
}

/**
 * The environment of the commands of agents: what `--env` names, and on the user's own server what this shell has,
 * without names that look like secrets. The key of the model is never part of it.
 */
export function agentEnvironment(
  named: readonly string[],
  { isOwn, apiKey }: { readonly isOwn: boolean; readonly apiKey: string | undefined },
): Record<string, string> {
  const inherited = isOwn ? variablesForModels().filter(([, value]) => value !== apiKey) : [];
  const set = variables(named);
  const leaking =
    apiKey === undefined || !isSecret(apiKey) ? undefined : set.find(([, value]) => value.includes(apiKey));
  if (leaking !== undefined)
    throw usageFailure(`--env ${leaking[0]} would show the agents the key of their own model; leave it out`);
  return Object.fromEntries([...inherited, ...set]);
}
