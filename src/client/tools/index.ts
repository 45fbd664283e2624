export type { ExecCommandArgs, WriteStdinArgs } from "./arguments.ts";
export {
  type AnthropicToolDefinition,
  type CheckedToolDefinition,
  type ExecToolDefinition,
  execToolDefinitions,
  type ToolDefinition,
  type ToolParameter,
  toAnthropicTools,
} from "./definitions.ts";
export type { ExecToolEnd, ExecToolEvent } from "./events.ts";
export { createExecTools } from "./exec-tools.ts";
export type {
  ExecSessionSummary,
  ExecTools,
  ExecToolsOptions,
  ToolCallResult,
} from "./exec-tools-api.ts";
export type { FunctionTool, FunctionToolResult, ToolCallOptions } from "./function-tool.ts";
export type {
  ToolHost,
  ToolProcess,
  ToolProcessEvent,
  ToolStartOptions,
  ToolStream,
  ToolTerminalSize,
} from "./tool-host.ts";
export { type ExecToolResult, toText } from "./tool-result.ts";
