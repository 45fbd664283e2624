import type { ServerResponse } from "node:http";
import { agentWork, type AgentWorkOptions } from "../../src/rows/agents/agent-work.ts";
import type { Tokens } from "../../src/rows/agents/model/model.ts";
import type { RunRowsOptions } from "../../src/rows/engine/rows-plan.ts";
import type { RowsSummary } from "../../src/rows/engine/rows-progress.ts";
import { runRows } from "../../src/rows/engine/run-rows.ts";
import type { RowItem, RowRecord } from "../../src/rows/engine/row.ts";
import type { ResponsesModelOptions } from "../../src/rows/agents/model/responses-model.ts";
import { responsesModel } from "../../src/rows/agents/model/responses-model.ts";
import {
  answerWith,
  functionCall,
  itemOf,
  outputsOf,
  type ModelRequest,
  ResponsesEndpoint,
} from "../fixtures/scripted-model.mjs";

/** Behaviour of one item's agent. It gets the number of the item's request, from 1. */
export type Behaviour = (scene: {
  readonly asked: ModelRequest;
  readonly response: ServerResponse;
  readonly jobId: string;
  readonly itemId: string;
  readonly request: number;
}) => unknown;

export const report = (args: object, callId = "call-1") =>
  functionCall(callId, "report_agent_job_result", args);

/** Reports once, and ends. */
export const good: Behaviour = ({ response, jobId, itemId, request }) =>
  answerWith(
    response,
    itemId,
    request === 1 ? [report({ job_id: jobId, item_id: itemId, result: { item_id: itemId } })] : [],
  );

export type ToolCall = readonly [name: string, args: object];

/** Makes these calls, one per turn, and reports their outputs. */
export const calling =
  (...calls: readonly ToolCall[]): Behaviour =>
  ({ asked, response, jobId, itemId, request }) => {
    const call = calls[request - 1];
    const result = { outputs: outputsOf(asked) };
    if (call !== undefined) answerWith(response, itemId, [functionCall(`call-${request}`, ...call)]);
    else if (request > calls.length + 1) answerWith(response, itemId, []);
    else answerWith(response, itemId, [report({ job_id: jobId, item_id: itemId, result }, "call-report")]);
  };

/** An endpoint whose agents behave as their items are called. */
export async function endpointOf(
  behaviours: Readonly<Record<string, Behaviour>>,
): Promise<ResponsesEndpoint> {
  const requests = new Map<string, number>();
  return await ResponsesEndpoint.start((asked, response) => {
    const item = itemOf(asked);
    if (item === undefined) throw new Error("a request that is about no item");
    const request = (requests.get(item.itemId) ?? 0) + 1;
    requests.set(item.itemId, request);
    return (behaviours[item.itemId] ?? good)({ asked, response, request, ...item });
  });
}

export interface AgentRun {
  readonly summary: RowsSummary;
  readonly tokens: Tokens;
  /** By the ids of their items. */
  readonly records: Readonly<Record<string, RowRecord>>;
}

/** Runs an agent for each id, all at once unless the options say otherwise. */
export async function runAgents(
  endpoint: ResponsesEndpoint,
  ids: readonly string[],
  {
    model = {},
    onRecord = () => {},
    ...options
  }: Partial<Omit<AgentWorkOptions & RunRowsOptions, "model" | "onRecord">> & {
    readonly model?: Partial<ResponsesModelOptions>;
    readonly onRecord?: (item: RowItem) => void;
  } = {},
): Promise<AgentRun> {
  const records: Record<string, RowRecord> = {};
  const work = agentWork({
    model: responsesModel({
      model: "scripted",
      baseUrl: endpoint.baseUrl,
      apiKey: "sk-secret",
      retries: 2,
      retryDelayMs: 1,
      ...model,
    }),
    instruction: (item) => `Look after ${item.id}.`,
    ...options,
  });
  const summary = await runRows({
    rows: ids.map((id, index) => ({ index, id, values: { name: id } })),
    maxConcurrency: ids.length,
    backoffMs: 1,
    run: work.run,
    onRecord: (item, record) => {
      records[item.id] = record;
      onRecord(item);
    },
    ...options,
  });
  return { summary, records, tokens: work.tokens() };
}
