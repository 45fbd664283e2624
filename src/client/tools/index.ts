export type { ExecCommandArgs, WriteStdinArgs } from "./arguments.ts";
export {
  type AnthropicToolDefinition,
  type ExecToolDefinition,
  execToolDefinitions,
  type ToolParameter,
  toAnthropicTools,
} from "./definitions.ts";
export type { ExecToolEnd, ExecToolEvent } from "./events.ts";
export {
  createExecTools,
  type ExecSessionSummary,
  type ExecTools,
  type ExecToolsOptions,
  type ToolCallOptions,
  type ToolCallResult,
} from "./exec-tools.ts";
export type {
  ToolHost,
  ToolProcess,
  ToolProcessEvent,
  ToolStartOptions,
  ToolStream,
  ToolTerminalSize,
} from "./tool-host.ts";
export { type ExecToolResult, toText } from "./tool-result.ts";
