import type { SessionState } from "../../client/session/session.ts";
import { createExecTools } from "../../client/tools/exec-tools.ts";
import type { ExecToolsOptions } from "../../client/tools/exec-tools-api.ts";
import type { ToolHost } from "../../client/tools/tool-host.ts";
import type { JsonValue, RowAttempt, RowItem, RowOutcome } from "../engine/row.ts";
import type { CheckResult } from "../result/result-schema.ts";
import { rowInstruction } from "./instruction.ts";
import type { Model } from "./model/model.ts";
import { ReportTool } from "./report-tool.ts";
import { type AgentEnd, type AgentLimits, type AgentTools, runAgent } from "./run-agent.ts";
import type { TokenCount } from "./token-count.ts";

/** Where the commands of agents run: a `Host`, or anything that starts processes like one. */
export type AgentHost = ToolHost & { readonly state?: SessionState };

/** What the agents of all rows have in common. */
export interface RowAgents {
  readonly model: Model;
  /** The template with the columns of a row filled in. */
  readonly instructionFor: (item: RowItem) => string;
  readonly outputSchema?: JsonValue;
  readonly check?: CheckResult;
  /** Where commands run. Without it, agents can only report. */
  readonly host?: AgentHost | ((attempt: RowAttempt) => AgentHost);
  /** What the results call it. */
  readonly hostName?: string;
  readonly commands: ExecToolsOptions;
  readonly limits: AgentLimits;
  readonly tokens: TokenCount;
}

/** Lets an agent work on one row. Resolves when everything that it started has ended. */
export async function runRowAgent(agents: RowAgents, attempt: RowAttempt): Promise<RowOutcome> {
  const { jobId, item, signal, stop } = attempt;
  const { check, tokens } = agents;
  const host = typeof agents.host === "function" ? agents.host(attempt) : agents.host;
  const report = new ReportTool({ jobId, itemId: item.id, stop, ...(check === undefined ? {} : { check }) });
  await using tools = toolsFor(host, agents, report);
  let end: AgentEnd | undefined;
  try {
    end = await runAgent({
      ...agents.limits,
      model: agents.model,
      instruction: rowInstruction({
        jobId,
        item,
        instruction: agents.instructionFor(item),
        ...(agents.outputSchema === undefined ? {} : { outputSchema: agents.outputSchema }),
      }),
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
  // The only host is lost for all rows; one of several only for those that are there.
  const over = tokens.refusal ?? (attempt.place === undefined ? lost : undefined);
  if (end?.isForAll === true) stop(end.error ?? "");
  else if (over !== undefined) stop(over);
  const ended = outcome(report, end);
  const name = attempt.place ?? agents.hostName;
  const counted = { ...ended, ...(name === undefined ? {} : { host: name }), tokens: tokens.of(item.index) };
  if (attempt.place !== undefined && lost !== undefined && ended.status === "failed" && !signal.aborted)
    return { ...counted, status: "lost", error: `${attempt.place}: it was lost`, isBegun: true };
  if (ended.status === "completed") tokens.forget(item);
  return counted;
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
