import { UsageError } from "../../base/errors.ts";
import type { ExecToolsOptions } from "../../client/tools/exec-tools-api.ts";
import type { Sandbox } from "../../protocol/sandbox-options.ts";
import type { JsonValue, RowAttempt, RowItem, RowOutcome } from "../engine/row.ts";
import { checkerFor } from "../result/result-schema.ts";
import type { Model, Tokens } from "./model/model.ts";
import { type AgentHost, runRowAgent } from "./row-agent.ts";
import type { AgentLimits } from "./run-agent.ts";
import { TokenCount } from "./token-count.ts";

/** What the agents of a job do, and how far they may go. */
export interface AgentWorkOptions extends AgentLimits {
  readonly model: Model;
  /** What the agent of a row is to do. */
  readonly instruction: (item: RowItem) => string;
  /** A JSON schema that results must fit. */
  readonly outputSchema?: JsonValue;
  /**
   * Where the commands of agents run, all of them or each attempt's own. Default: nowhere; the agents can only report.
   */
  readonly host?: AgentHost | ((attempt: RowAttempt) => AgentHost);
  /** What the results call the host. */
  readonly hostName?: string;
  /** How they run. */
  readonly commands?: AgentCommands;
  /** Asks for no more turns once the job has used this many tokens. What is under way is completed. Default: no limit. */
  readonly maxTokensTotal?: number;
}

/** How the commands of agents run. */
export interface AgentCommands extends Omit<ExecToolsOptions, "more" | "sandbox"> {
  /** Default: `workspace-write`. `none` lets commands do whatever the server may. */
  readonly sandbox?: Sandbox | "none";
  /** Maximum output of a call. Default: 10000. */
  readonly maxOutputTokens?: number;
}

/** What is done with each row, and what it has cost so far. */
export interface AgentWork {
  readonly run: (attempt: RowAttempt) => Promise<RowOutcome>;
  /** Used until now. */
  readonly tokens: () => Tokens;
}

const MAX_OUTPUT_TOKENS = 10_000;
/** An agent that leaves more running has lost its way. */
const MAX_SESSIONS = 8;

/** What confines the commands of agents. */
export function sandboxOf({ sandbox = "workspace-write" }: AgentCommands): Sandbox | undefined {
  return sandbox === "none" ? undefined : sandbox;
}

/** Prepares agents, each of which works on one row. */
export function agentWork(options: AgentWorkOptions): AgentWork {
  const { model, instruction, outputSchema, host, commands = {}, maxTurns, maxToolCalls } = options;
  const { hostName, maxTokensTotal = Number.POSITIVE_INFINITY } = options;
  for (const [name, value] of Object.entries({ maxTurns, maxToolCalls, maxTokensTotal }))
    if (value !== undefined && !isCount(value))
      throw new UsageError(`${name} must be a whole number from 1 on, not ${value}`);
  const tokens = new TokenCount(maxTokensTotal);
  const { sandbox: _, ...given } = commands;
  const sandbox = sandboxOf(commands);
  const agents = {
    model,
    instructionFor: instruction,
    ...(outputSchema === undefined ? {} : { outputSchema, check: checkerFor(outputSchema) }),
    ...(host === undefined ? {} : { host }),
    ...(hostName === undefined ? {} : { hostName }),
    commands: {
      maxOutputTokens: MAX_OUTPUT_TOKENS,
      maxSessions: MAX_SESSIONS,
      ...given,
      ...(sandbox === undefined ? {} : { sandbox }),
    },
    limits: {
      ...(maxTurns === undefined ? {} : { maxTurns }),
      ...(maxToolCalls === undefined ? {} : { maxToolCalls }),
    },
    tokens,
  };
  return { run: (attempt) => runRowAgent(agents, attempt), tokens: () => tokens.sum };
}

const isCount = (value: number): boolean =>
  value === Number.POSITIVE_INFINITY || (Number.isSafeInteger(value) && value >= 1);
