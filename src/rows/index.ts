export type { JsonValue, RowAttempt, RowItem, RowOutcome, RowRecord, RowStatus } from "./engine/row.ts";
export type { Places } from "./engine/places.ts";
export type { RowLedger } from "./engine/row-ledger.ts";
export type { RowsProgress, RowsSummary } from "./engine/rows-progress.ts";
export type { RunRowsOptions } from "./engine/rows-plan.ts";
export { runRows } from "./engine/run-rows.ts";
export { checkerFor, type CheckResult } from "./result/result-schema.ts";
export { type AgentJobOptions, type AgentJobSummary, runAgentJob } from "./agents/agent-job.ts";
export { type AgentJobProgress, agentJobTool, type AgentJobToolOptions } from "./agents/agent-job-tool.ts";
export {
  type AgentCommands,
  type AgentHost,
  type AgentWork,
  agentWork,
  type AgentWorkOptions,
} from "./agents/agent-work.ts";
export type {
  ConversationItem,
  Model,
  ModelEvent,
  ModelRequest,
  ModelToolCall,
  ModelTurn,
  Tokens,
  TurnEnd,
} from "./agents/model/model.ts";
export { responsesModel, type ResponsesModelOptions } from "./agents/model/responses-model.ts";
export {
  type AgentEnd,
  type AgentEvent,
  type AgentLimits,
  type AgentOptions,
  type AgentTools,
  runAgent,
} from "./agents/run-agent.ts";
export { type CheckRow, RowsFile, type RowsFileOptions } from "./input/rows-file.ts";
export {
  type JobAttempts,
  type JobFiles,
  type JobOptions,
  type JobSummary,
  type JobWork,
  runFileJob,
  type StartedJob,
} from "./job/file-job.ts";
export type { RowsFleet, RowsFleetOptions, RowsMachine } from "./machines/rows-fleet.ts";
export type { OutcomeGroup } from "./output/outcome-groups.ts";
export { Template } from "./template/template.ts";
export type { Leftover, MachinesSummary } from "./map/fleet-map.ts";
export { mapRows, type MapRowsOptions, type MapRowsSummary } from "./map/map-rows.ts";
export type { RowCommandOptions } from "./map/row-command.ts";
