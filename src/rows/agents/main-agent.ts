import { defined } from "../../base/defined.ts";
import type { Host } from "../../client/host/host.ts";
import type { ExecToolEvent } from "../../client/tools/events.ts";
import { createExecTools } from "../../client/tools/exec-tools.ts";
import { type AgentJobProgress, agentJobTool } from "./agent-job-tool.ts";
import { type AgentCommands, filesOf, toolOptions } from "./agent-work.ts";
import { fileTools } from "./file-tools.ts";
import { addTokens, type Model, type ModelRequest, type ModelTurn, NO_TOKENS } from "./model/model.ts";
import { type AgentEnd, type AgentEvent, type AgentLimits, runAgent } from "./run-agent.ts";

/** Task and limits of a main agent. */
interface MainAgentOptions extends AgentLimits {
  readonly model: Model;
  readonly prompt: string;
  /** The host of its commands and files. */
  readonly host: Host;
  /** Options for its commands. */
  readonly commands: AgentCommands;
  /** Stops asking for turns once the agent, and those that it has started, have used this many tokens. */
  readonly maxTokensTotal?: number;
  readonly signal: AbortSignal;
  readonly onEvent?: (event: AgentEvent) => void;
  /** Called with events of its commands. */
  readonly onToolEvent?: (event: ExecToolEvent) => void;
  /** Progress of the agents that it has started. */
  readonly onProgress?: (progress: AgentJobProgress) => void;
}

/**
 * Runs one agent that can run commands, work with files and start agents over the rows of a CSV file. Resolves when its
 * model ends a turn without calling a tool; by then, everything that it has started has ended. The tokens are those of
 * all agents.
 */
export async function runMainAgent(options: MainAgentOptions): Promise<AgentEnd> {
  const { host, commands, prompt, signal, onEvent, onToolEvent, onProgress, maxTurns, maxToolCalls } =
    options;
  const { files, cwd } = filesOf(host, commands);
  const model = countedModel(options.model, options.maxTokensTotal);
  const job = agentJobTool({ host, model, commands, ...defined({ onProgress }) });
  await using tools = createExecTools(host, {
    ...toolOptions(commands),
    more: [...fileTools(files, cwd), job],
  });
  if (onToolEvent !== undefined) tools.onEvent(onToolEvent);
  const more = defined({ onEvent, maxTurns, maxToolCalls });
  const end = await runAgent({ model, instruction: prompt, tools, signal, ...more });
  return { ...end, tokens: model.tokens };
}

/** Counts what all turns of a model cost, and gives no more of them once that is too much. */
function countedModel(model: Model, maxTokens = Number.POSITIVE_INFINITY) {
  const counted = {
    tokens: NO_TOKENS,
    async respond(request: ModelRequest): Promise<ModelTurn> {
      const { total } = counted.tokens;
      if (total >= maxTokens) {
        const error = `${total} tokens have been used, and the limit is ${maxTokens}`;
        const end = { status: "failed", error, retry: false, isForAll: true } as const;
        return { end, items: [], calls: [], text: "", tokens: NO_TOKENS };
      }
      const turn = await model.respond(request);
      counted.tokens = addTokens(counted.tokens, turn.tokens);
      return turn;
    },
  };
  return counted;
}
