import type { CheckedToolDefinition, ToolParameter } from "../../client/tools/definitions.ts";

/** What a client may know about a tool before it asks its user. */
interface ToolAnnotations {
  readonly title: string;
  readonly readOnlyHint: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  /** It reaches something that is not this machine. */
  readonly openWorldHint: boolean;
}

/** One call of a tool. */
export interface ToolCall {
  /** Aborted when the client cancels the call, or goes. */
  readonly signal: AbortSignal;
  /** What the user of the client may see while the call lasts. */
  report?: () => string;
}

/** A tool's answer. Some clients show a model only `structured` if there is one, so it holds everything. */
export interface ToolAnswer {
  readonly text: string;
  readonly structured?: Readonly<Record<string, unknown>>;
  readonly image?: { readonly data: string; readonly mimeType: string };
}

/** A tool as clients of the Model Context Protocol see it. */
export interface McpTool {
  readonly definition: CheckedToolDefinition;
  readonly annotations: ToolAnnotations;
  /** A JSON schema of `structured`. */
  readonly outputSchema?: OutputSchema;
  /** Mistakes that a model can correct reject with an ExecError. */
  call(args: unknown, call: ToolCall): Promise<ToolAnswer>;
}

export interface OutputSchema {
  readonly type: "object";
  readonly properties: Readonly<Record<string, object>>;
  readonly required: readonly string[];
}

/** A definition with arguments that are checked. */
export function toolDefinition(
  name: string,
  description: string,
  properties: Readonly<Record<string, ToolParameter>>,
  required: readonly string[],
): CheckedToolDefinition {
  return {
    type: "function",
    name,
    description,
    strict: false,
    parameters: { type: "object", properties, required, additionalProperties: false },
  };
}
