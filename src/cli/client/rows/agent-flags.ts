import { repeated } from "../arguments.ts";
import { targetName } from "../target/target.ts";
import { type Command, Option } from "commander";
import type { Host } from "../../../client/host/host.ts";
import { SANDBOX_PRESETS, type SandboxPreset } from "../../../protocol/sandbox-options.ts";
import type { AgentCommands, AgentWorkOptions } from "../../../rows/agents/agent-work.ts";
import { workingDirectory } from "../running/start-options.ts";
import { openTarget } from "../target/connect-target.ts";
import { resolveTarget } from "../target/resolve-target.ts";
import type { TargetOptions } from "../target/target-options.ts";
import { agentEnvironment } from "./agent-environment.ts";
import { parseCount } from "./job-flags.ts";

/** Options that say how far agents may go, and how their commands run. */
export interface AgentFlags extends TargetOptions {
  readonly maxTurns?: number;
  readonly maxToolCalls?: number;
  readonly maxTokensTotal?: number;
  readonly cwd?: string;
  readonly env?: readonly string[];
  readonly sandbox?: SandboxPreset | "none";
}

/** Adds these options. `each`: what the limits are for, such as ` for each row`. */
export function withAgent(command: Command, each = ""): Command {
  return command
    .option("--max-tokens-total <N>", "ask for no more turns when a run has used so many tokens", parseCount)
    .option("--max-turns <N>", `turns of the model${each} [default: 100]`, parseCount)
    .option("--max-tool-calls <N>", `calls of tools${each} [default: 200]`, parseCount)
    .option("--cwd <DIR>", "working directory of the commands")
    .option(
      "--env <K=V>",
      "set a variable for commands; K alone takes its value from here (repeatable)",
      repeated,
    )
    .addOption(
      new Option("--sandbox <NAME>", "confine the commands [default: workspace-write]").choices([
        ...SANDBOX_PRESETS,
        "none",
      ]),
    );
}

/** How far agents may go. */
export function agentLimits({
  maxTurns,
  maxToolCalls,
  maxTokensTotal,
}: AgentFlags): Pick<AgentWorkOptions, "maxTurns" | "maxToolCalls" | "maxTokensTotal"> {
  return {
    ...(maxTurns === undefined ? {} : { maxTurns }),
    ...(maxToolCalls === undefined ? {} : { maxToolCalls }),
    ...(maxTokensTotal === undefined ? {} : { maxTokensTotal }),
  };
}

/** Connects to where the commands of agents run. */
export async function openAgentHost(
  flags: AgentFlags,
  apiKey: string | undefined,
): Promise<{ readonly host: Host; readonly hostName: string; readonly commands: AgentCommands }> {
  const target = await resolveTarget(flags);
  const isOwn = target.kind === "own";
  const env = agentEnvironment(flags.env ?? [], { isOwn, apiKey });
  const host = await openTarget(target, flags, "session");
  const cwd = workingDirectory({ host, isOwn }, flags.cwd);
  const { sandbox } = flags;
  const commands = {
    env,
    ...(cwd === undefined ? {} : { cwd }),
    ...(sandbox === undefined ? {} : { sandbox }),
  };
  return { host, hostName: targetName(target), commands };
}
