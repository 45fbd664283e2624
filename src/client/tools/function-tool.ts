import { UsageError } from "../../base/errors.ts";
import type { ToolDefinition } from "./definitions.ts";

/** Options of a single call. */
export interface ToolCallOptions {
  /**
   * Ends the call with the signal's reason. A process that the call started is killed; one that it only talked to
   * continues.
   */
  readonly signal?: AbortSignal;
  /** Id of the call in events. Default: generated. */
  readonly callId?: string;
}

/** A tool's answer to the model. */
export interface FunctionToolResult {
  readonly text: string;
  /** True for a mistake that the model can correct. */
  readonly isError: boolean;
}

/** A tool of your own, beside those of `createExecTools`. */
export interface FunctionTool {
  readonly definition: ToolDefinition;
  /** Called with the arguments, or their JSON text, as the model gave them. */
  call(args: unknown, options: ToolCallOptions): Promise<FunctionToolResult>;
}

/** The given tools by name. Throws a UsageError if a name occurs twice, or is in `taken`. */
export function toolsByName(
  tools: readonly FunctionTool[],
  taken: readonly string[],
): ReadonlyMap<string, FunctionTool> {
  const byName = new Map<string, FunctionTool>();
  for (const tool of tools) {
    const { name } = tool.definition;
    if (taken.includes(name) || byName.has(name))
      throw new UsageError(`there are two tools called ${JSON.stringify(name)}`);
    byName.set(name, tool);
  }
  return byName;
}
