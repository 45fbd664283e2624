import type { ToolDefinition } from "../../../client/tools/definitions.ts";

/** Tokens that a model has counted. */
export interface Tokens {
  readonly input: number;
  /** The part of the input that the model had cached. */
  readonly cached: number;
  readonly output: number;
  readonly total: number;
}

/** A call of a tool, as the model made it. */
export interface ModelToolCall {
  readonly callId: string;
  readonly name: string;
  /** JSON text, if the model keeps to the rules. */
  readonly arguments: string;
}

/** A part of the conversation, in the form of the Responses API. */
export type ConversationItem = { readonly type: string; readonly [member: string]: unknown };

/** A request to a model. */
export interface ModelRequest {
  readonly input: readonly ConversationItem[];
  readonly tools: readonly ToolDefinition[];
  /** False: the model may say something, but call no tool. */
  readonly mayCallTools: boolean;
  /** Maximum number of repeats of a failed request. Default: the model's. */
  readonly retries?: number;
  readonly signal: AbortSignal;
  /** Called while the model answers. */
  readonly onEvent?: (event: ModelEvent) => void;
}

/** Events while a model answers. */
export type ModelEvent =
  /** The model's text. Each message ends with a line break. */
  | { readonly type: "text"; readonly text: string }
  /** A request failed, and is repeated after a pause. The text so far is produced again. */
  | { readonly type: "retry"; readonly error: string; readonly delayMs: number };

/** How a turn of a model ended. */
export type TurnEnd =
  | { readonly status: "completed" }
  | {
      readonly status: "failed";
      readonly error: string;
      /** Whether the same request may succeed later. */
      readonly retry: boolean;
      /** Whether every request would fail like this one: the key, the address or the model is wrong. */
      readonly isForAll?: boolean;
    }
  | { readonly status: "interrupted"; readonly error: string };

/** One turn of a model. */
export interface ModelTurn {
  readonly end: TurnEnd;
  /** Items to add to the conversation. */
  readonly items: readonly ConversationItem[];
  readonly calls: readonly ModelToolCall[];
  /** The model's text, if any. */
  readonly text: string;
  readonly tokens: Tokens;
}

/** A language model. */
export interface Model {
  /** Asks for one turn. Rejects only with the signal's reason. */
  respond(request: ModelRequest): Promise<ModelTurn>;
}

export const NO_TOKENS: Tokens = { input: 0, cached: 0, output: 0, total: 0 };

export function addTokens(one: Tokens, other: Tokens): Tokens {
  return {
    input: one.input + other.input,
    cached: one.cached + other.cached,
    output: one.output + other.output,
    total: one.total + other.total,
  };
}
