export type { ExecCommandArgs, WriteStdinArgs } from "./arguments.ts";
export {
  type AnthropicToolDefinition,
  type ExecToolDefinition,
  execToolDefinitions,
  type ToolParameter,
  toAnthropicTools,
} from "./definitions.ts";
export type { ExecToolEnd, ExecToolEvent } from "./events.ts";
export { createExecTools } from "./exec-tools.ts";
export type {
  ExecSessionSummary,
  ExecTools,
  ExecToolsOptions,
  ToolCallOptions,
  ToolCallResult,
} from "./exec-tools-api.ts";
export type {
  ToolHost,
  ToolProcess,
  ToolProcessEvent,
  ToolStartOptions,
  ToolStream,
  ToolTerminalSize,
} from "./tool-host.ts";
export { type ExecToolResult, toText } from "./tool-result.ts";
