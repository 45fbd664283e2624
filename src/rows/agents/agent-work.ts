import { defined } from "../../base/defined.ts";
import { UsageError } from "../../base/errors.ts";
import type { Files } from "../../client/files/files.ts";
import type { Host } from "../../client/host/host.ts";
import type { SessionState } from "../../client/session/session.ts";
import { createExecTools } from "../../client/tools/exec-tools.ts";
import type { ExecToolsOptions } from "../../client/tools/exec-tools-api.ts";
import type { ToolHost } from "../../client/tools/tool-host.ts";
import { pathOfServer } from "../../client/tools/working-directory.ts";
import type { Sandbox } from "../../protocol/sandbox-options.ts";
import type { JsonValue, RowAttempt, RowItem, RowOutcome } from "../engine/row.ts";
import { checkerFor, type CheckResult } from "../result/result-schema.ts";
import { addTokens, type Model, NO_TOKENS, type Tokens } from "./model/model.ts";
import { ReportTool } from "./report-tool.ts";
import { type AgentEnd, type AgentLimits, type AgentTools, runAgent } from "./run-agent.ts";

/** Where agents run their commands: a `Host`, or anything that starts processes like one. */
export type AgentHost = ToolHost & { readonly state?: SessionState };

/** Task and limits of a job's agents. */
export interface AgentWorkOptions extends AgentLimits {
  readonly model: Model;
  /** The instruction for a row's agent. */
  readonly instruction: (item: RowItem) => string;
  /** A JSON schema that results must fit. */
  readonly outputSchema?: JsonValue;
  /**
   * Where the commands of agents run, all of them or each attempt's own. Default: nowhere; the agents can only report.
   */
  readonly host?: AgentHost | ((attempt: RowAttempt) => AgentHost);
  /** Name of the host in results. */
  readonly hostName?: string;
  /** Options for their commands. */
  readonly commands?: AgentCommands;
  /**
   * Stops asking for turns once the job has used this many tokens. Turns in progress are completed. Default: no limit.
   */
  readonly maxTokensTotal?: number;
}

/** Options for the commands of agents. */
export interface AgentCommands extends Omit<ExecToolsOptions, "more" | "sandbox"> {
  /** Default: `workspace-write`. `none` lets commands do whatever the server may. */
  readonly sandbox?: Sandbox | "none";
  /** Maximum output of a call. Default: 10000. */
  readonly maxOutputTokens?: number;
}

/** The work for each row, and its cost so far. */
export interface AgentWork {
  readonly run: (attempt: RowAttempt) => Promise<RowOutcome>;
  /** Used until now. */
  readonly tokens: () => Tokens;
}

const MAX_OUTPUT_TOKENS = 10_000;
/** An agent that leaves more running has lost its way. */
const MAX_SESSIONS = 8;

/** Options of the tools with which agents run commands. */
export function toolOptions({ sandbox = "workspace-write", ...options }: AgentCommands): ExecToolsOptions {
  return sandbox === "none" ? options : { ...options, sandbox };
}

/** The directory in which commands of agents run, and the files that they can reach. */
export function filesOf(host: Host, commands: AgentCommands): { cwd: string | undefined; files: Files } {
  const cwd = commands.cwd ?? pathOfServer(host.environment?.cwd);
  const { sandbox } = toolOptions(commands);
  return { cwd, files: sandbox === undefined ? host.files : host.files.within(sandbox, defined({ cwd })) };
}

/** Prepares agents, each of which works on one row. */
export function agentWork(options: AgentWorkOptions): AgentWork {
  const { outputSchema, commands = {}, maxTurns, maxToolCalls } = options;
  const { maxTokensTotal = Number.POSITIVE_INFINITY } = options;
  for (const [name, value] of Object.entries({ maxTurns, maxToolCalls, maxTokensTotal }))
    if (value !== undefined && !isCount(value))
      throw new UsageError(`${name} must be a whole number of at least 1, not ${value}`);
  const tokens = new TokenCount(maxTokensTotal);
  const agents = {
    ...options,
    check: outputSchema === undefined ? undefined : checkerFor(outputSchema),
    commands: { maxOutputTokens: MAX_OUTPUT_TOKENS, maxSessions: MAX_SESSIONS, ...toolOptions(commands) },
    tokens,
  };
  return { run: (attempt) => runRowAgent(agents, attempt), tokens: () => tokens.sum };
}

const isCount = (value: number): boolean =>
  value === Number.POSITIVE_INFINITY || (Number.isSafeInteger(value) && value >= 1);

/** Shared by the agents of all rows. */
interface RowAgents extends Omit<AgentWorkOptions, "commands"> {
  readonly check: CheckResult | undefined;
  readonly commands: ExecToolsOptions;
  readonly tokens: TokenCount;
}

/** Lets an agent work on one row. Resolves when everything that it started has ended. */
async function runRowAgent(agents: RowAgents, attempt: RowAttempt): Promise<RowOutcome> {
  const { jobId, item, signal, stop } = attempt;
  const { model, check, tokens, maxTurns, maxToolCalls } = agents;
  const host = typeof agents.host === "function" ? agents.host(attempt) : agents.host;
  const report = new ReportTool({ jobId, itemId: item.id, stop, check });
  await using tools = toolsFor(host, agents, report);
  let end: AgentEnd | undefined;
  try {
    end = await runAgent({
      ...defined({ maxTurns, maxToolCalls }),
      model,
      instruction: messageFor(attempt, agents),
      tools,
      signal,
      refuseTurn: () => tokens.refusal ?? lostHost(host),
      onTokens: (spent) => tokens.add(item, spent),
      next: () => (report.fault !== undefined ? "last" : report.result === undefined ? "go on" : "closing"),
    });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  const lost = lostHost(host);
  // A lost only host affects all rows; one of several only those on it.
  const over = tokens.refusal ?? (attempt.place === undefined ? lost : undefined);
  if (end?.isForAll === true) stop(end.error ?? "");
  else if (over !== undefined) stop(over);
  const ended = outcome(report, end);
  const name = attempt.place ?? agents.hostName;
  const counted = { ...ended, ...defined({ host: name }), tokens: tokens.of(item.index) };
  if (attempt.place !== undefined && lost !== undefined && ended.status === "failed" && !signal.aborted)
    return { ...counted, status: "lost", error: `${attempt.place}: it was lost`, isBegun: true };
  if (ended.status === "completed") tokens.forget(item);
  return counted;
}

/**
 * The message that an agent begins with. Its first sentence and the two lines after it are what endpoints, and models
 * that were trained on such jobs, expect.
 */
function messageFor({ jobId, item }: RowAttempt, { instruction, outputSchema }: RowAgents): string {
  const schema =
    outputSchema === undefined
      ? []
      : ["", "The result must fit this JSON schema:", JSON.stringify(outputSchema)];
  return [
    "You are processing one item for a generic agent job.",
    `Job ID: ${jobId}`,
    `Item ID: ${item.id}`,
    "",
    "Instruction:",
    instruction(item),
    "",
    "The row of this item, as JSON:",
    JSON.stringify(item.values),
    ...schema,
    "",
    "When the work is done, call report_agent_job_result once, with the job_id and the item_id above and the result as a " +
      "JSON object. A second report, or one for another item, fails this item. Set stop to true only to skip the items that " +
      "have not started. After the report, end your turn without calling anything else.",
  ].join("\n");
}

/** A report that was accepted counts, whatever becomes of the turn after it. */
function outcome({ fault, result, handedBack }: ReportTool, end: AgentEnd | undefined): RowOutcome {
  if (fault !== undefined) return { status: "failed", error: fault, retry: true };
  if (result !== undefined) return { status: "completed", result };
  if (end === undefined) return { status: "failed", error: "the agent was interrupted", retry: true };
  const { status, error = "", retry } = end;
  if (status !== "completed") return { status: "failed", error, retry };
  if (handedBack !== undefined)
    return { status: "failed", error: `the agent did not correct its report: ${handedBack}`, retry: true };
  return { status: "failed", error: "the agent ended its turn without a report", retry: true };
}

function toolsFor(
  host: AgentHost | undefined,
  { commands }: RowAgents,
  report: ReportTool,
): AgentTools & AsyncDisposable {
  if (host !== undefined) return createExecTools(host, { ...commands, more: [report] });
  return {
    definitions: [report.definition],
    call: async (name, args) => {
      if (name === report.definition.name) return await report.call(args);
      const text = `there is no tool ${JSON.stringify(name)}; there is only ${report.definition.name}`;
      return { text, isError: true };
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

function lostHost(host: AgentHost | undefined): string | undefined {
  return host?.state === "closed" ? "the connection to the host is lost" : undefined;
}

/** Counts the tokens of a job and of its items, and reports when they are used up. */
class TokenCount {
  readonly #max: number;
  /** Items that are not completed; one that failed may be retried. */
  readonly #byItem = new Map<number, number>();
  sum: Tokens = NO_TOKENS;

  constructor(max: number) {
    this.#max = max;
  }

  /** Why no more turns are requested. */
  get refusal(): string | undefined {
    if (this.sum.total < this.#max) return undefined;
    return `the job has used ${this.sum.total} tokens, and may use ${this.#max}`;
  }

  add({ index }: RowItem, tokens: Tokens): void {
    this.sum = addTokens(this.sum, tokens);
    this.#byItem.set(index, this.of(index) + tokens.total);
  }

  of(index: number): number {
    return this.#byItem.get(index) ?? 0;
  }

  /** An item is completed: nothing will be added to it. */
  forget({ index }: RowItem): void {
    this.#byItem.delete(index);
  }
}
