import { UsageError } from "../../base/errors.ts";
import type { ExecToolsOptions } from "../../client/tools/exec-tools-api.ts";
import type { JsonValue, RowItem } from "../engine/row.ts";
import type { RunRowsOptions } from "../engine/rows-plan.ts";
import type { RowsSummary } from "../engine/rows-progress.ts";
import { runRows } from "../engine/run-rows.ts";
import { checkerFor } from "../result/result-schema.ts";
import type { Model, Tokens } from "./model/model.ts";
import { type AgentHost, runRowAgent } from "./row-agent.ts";
import type { AgentLimits } from "./run-agent.ts";
import { TokenCount } from "./token-count.ts";

/** What the agents of a job do, and how far they may go. */
export interface AgentJobOptions extends Omit<RunRowsOptions, "run" | "takeOver">, AgentLimits {
  readonly model: Model;
  /** What the agent of a row is to do. */
  readonly instruction: (item: RowItem) => string;
  /** A JSON schema that results must fit. */
  readonly outputSchema?: JsonValue;
  /** Where the commands of agents run. Default: nowhere; the agents can only report. */
  readonly host?: AgentHost;
  /**
   * How they run. The sandbox is `workspace-write` unless it says otherwise, and `"none"` runs them unconfined. A
   * command returns at most 10000 tokens of output.
   */
  readonly commands?: AgentCommands;
  /** Asks for no more turns once the job has used this many tokens. What is under way is completed. Default: no limit. */
  readonly maxTokensTotal?: number;
}

/** How the commands of agents run. */
export interface AgentCommands extends Omit<ExecToolsOptions, "more" | "sandbox"> {
  readonly sandbox?: ExecToolsOptions["sandbox"] | "none";
}

/** How a job ended. */
export interface AgentJobSummary extends RowsSummary {
  /** Used in this run. */
  readonly tokens: Tokens;
}

/** As long as a worker of Codex may take. */
const ITEM_TIMEOUT_MS = 30 * 60_000;
const MAX_OUTPUT_TOKENS = 10_000;
/** An agent that leaves more running has lost its way. */
const MAX_SESSIONS = 8;

/** Lets an agent work on each row. Resolves when every agent has ended, and with it what it has started. */
export async function runAgentJob(options: AgentJobOptions): Promise<AgentJobSummary> {
  const { model, instruction, outputSchema, host, commands = {}, maxTurns, maxToolCalls, ...rows } = options;
  const { maxTokensTotal = Number.POSITIVE_INFINITY, timeoutMs = ITEM_TIMEOUT_MS, ...run } = rows;
  for (const [name, value] of Object.entries({ maxTurns, maxToolCalls, maxTokensTotal }))
    if (
      value !== undefined &&
      value !== Number.POSITIVE_INFINITY &&
      (!Number.isSafeInteger(value) || value < 1)
    )
      throw new UsageError(`${name} must be a whole number from 1 on, not ${value}`);
  const tokens = new TokenCount(maxTokensTotal);
  const { sandbox = "workspace-write", ...given } = commands;
  const agents = {
    model,
    instructionFor: instruction,
    ...(outputSchema === undefined ? {} : { outputSchema, check: checkerFor(outputSchema) }),
    ...(host === undefined ? {} : { host }),
    commands: {
      maxOutputTokens: MAX_OUTPUT_TOKENS,
      maxSessions: MAX_SESSIONS,
      ...given,
      ...(sandbox === "none" ? {} : { sandbox }),
    },
    limits: {
      ...(maxTurns === undefined ? {} : { maxTurns }),
      ...(maxToolCalls === undefined ? {} : { maxToolCalls }),
    },
    tokens,
  };
  const summary = await runRows({ ...run, timeoutMs, run: (attempt) => runRowAgent(agents, attempt) });
  return { ...summary, tokens: tokens.sum };
}
