import type { Host } from "../../client/host/host.ts";
import type { ExecToolEvent } from "../../client/tools/events.ts";
import { createExecTools } from "../../client/tools/exec-tools.ts";
import { pathOfServer } from "../../client/tools/working-directory.ts";
import { type AgentJobProgress, agentJobTool } from "./agent-job-tool.ts";
import { type AgentCommands, sandboxOf } from "./agent-work.ts";
import { CountedModel } from "./counted-model.ts";
import { fileTools } from "./file-tools.ts";
import type { Model } from "./model/model.ts";
import { type AgentEnd, type AgentEvent, type AgentLimits, runAgent } from "./run-agent.ts";

/** What a main agent does, and how far it may go. */
export interface MainAgentOptions extends AgentLimits {
  readonly model: Model;
  readonly prompt: string;
  /** Where its commands run, and where its files are. */
  readonly host: Host;
  /** How they run. */
  readonly commands: AgentCommands;
  /** Asks for no more turns once the agent, and those that it has started, have used this many tokens. */
  readonly maxTokensTotal?: number;
  readonly signal: AbortSignal;
  readonly onEvent?: (event: AgentEvent) => void;
  /** What its commands do. */
  readonly onToolEvent?: (event: ExecToolEvent) => void;
  /** How far the agents are that it has started. */
  readonly onProgress?: (progress: AgentJobProgress) => void;
}

/**
 * Runs one agent that can run commands, work with files and start agents over the rows of a CSV file. Resolves when its
 * model ends a turn without calling a tool; everything that it has started has ended then. The tokens are those of all
 * agents.
 */
export async function runMainAgent(options: MainAgentOptions): Promise<AgentEnd> {
  const { host, commands, prompt, signal, onEvent, onToolEvent, onProgress, maxTurns, maxToolCalls } =
    options;
  const { sandbox: _, ...given } = commands;
  const sandbox = sandboxOf(commands);
  const cwd = commands.cwd ?? pathOfServer(host.environment?.cwd);
  const files =
    sandbox === undefined ? host.files : host.files.within(sandbox, cwd === undefined ? {} : { cwd });
  const model = new CountedModel(options.model, options.maxTokensTotal);
  const job = agentJobTool({ host, model, commands, ...(onProgress === undefined ? {} : { onProgress }) });
  await using tools = createExecTools(host, {
    ...given,
    ...(sandbox === undefined ? {} : { sandbox }),
    more: [...fileTools(files, cwd), job],
  });
  if (onToolEvent !== undefined) tools.onEvent(onToolEvent);
  const end = await runAgent({
    model,
    instruction: prompt,
    tools,
    signal,
    ...(onEvent === undefined ? {} : { onEvent }),
    ...(maxTurns === undefined ? {} : { maxTurns }),
    ...(maxToolCalls === undefined ? {} : { maxToolCalls }),
  });
  return { ...end, tokens: model.tokens };
}
