import { defined } from "../../base/defined.ts";
import type { ToolDefinition } from "../../client/tools/definitions.ts";
import type { FunctionToolResult, ToolCallOptions } from "../../client/tools/function-tool.ts";
import { shorten } from "../../base/shorten.ts";
import {
  addTokens,
  type ConversationItem,
  type Model,
  type ModelEvent,
  type ModelToolCall,
  NO_TOKENS,
  type Tokens,
} from "./model/model.ts";

/** Tools of an agent: the result of `createExecTools`, or any set of tools. */
export interface AgentTools {
  readonly definitions: readonly ToolDefinition[];
  call(name: string, args: unknown, options: ToolCallOptions): Promise<FunctionToolResult>;
}

/** Limits of an agent. */
export interface AgentLimits {
  /** Maximum number of turns. Default: 100. */
  readonly maxTurns?: number;
  /** Default: 200. */
  readonly maxToolCalls?: number;
}

/** Options for running an agent. */
export interface AgentOptions extends AgentLimits {
  readonly model: Model;
  /** The agent's task. */
  readonly instruction: string;
  readonly tools: AgentTools;
  /** Ends the agent. */
  readonly signal?: AbortSignal;
  /** Called before each turn: a text refuses it, and ends the agent as failed for this reason. */
  readonly refuseTurn?: () => string | undefined;
  /** Called with the cost of each turn. */
  readonly onTokens?: (tokens: Tokens) => void;
  /**
   * Called after each round of tool calls. `last`: the model gets one more turn, without tools, to hear what became of
   * them. `closing`: nothing depends on the next turn any more, so it is not repeated if it fails.
   */
  readonly next?: () => "go on" | "closing" | "last";
  /** Called with what the agent does, as it does it. */
  readonly onEvent?: (event: AgentEvent) => void;
}

/** Events of an agent. */
export type AgentEvent =
  | ModelEvent
  | ({ readonly type: "call" } & ModelToolCall)
  | ({ readonly type: "result" } & Pick<ModelToolCall, "callId" | "name"> & FunctionToolResult);

/** How an agent ended. */
export interface AgentEnd {
  readonly status: "completed" | "failed" | "interrupted";
  /** Why, unless it is completed. */
  readonly error?: string;
  /** Whether another agent could succeed with the same instruction. */
  readonly retry: boolean;
  /** Whether every agent would end like this one: the key, the address or the model is wrong. */
  readonly isForAll: boolean;
  /** The last thing that the model said. */
  readonly text: string;
  readonly turns: number;
  readonly toolCalls: number;
  readonly tokens: Tokens;
}

const MAX_TURNS = 100;
const MAX_TOOL_CALLS = 200;
/** Every turn sends the whole conversation again, and every agent at work holds one. */
const MAX_CONVERSATION_BYTES = 4 * 1024 * 1024;
/** Far above what `createExecTools` returns for the largest number of tokens that a job allows. */
const MAX_TOOL_TEXT = 256 * 1024;

/**
 * Runs an agent until its model ends a turn without calling a tool. Rejects only with the reason of the signal; the
 * processes of its tools are the caller's to end.
 */
export async function runAgent(options: AgentOptions): Promise<AgentEnd> {
  return await new Agent(options).run();
}

class Agent {
  readonly #options: AgentOptions;
  readonly #signal: AbortSignal;
  readonly #conversation: ConversationItem[] = [];
  #bytes = 0;
  #turns = 0;
  #toolCalls = 0;
  #tokens: Tokens = NO_TOKENS;
  #text = "";

  constructor(options: AgentOptions) {
    this.#options = options;
    this.#signal = options.signal ?? new AbortController().signal;
    this.#add(userMessage(options.instruction));
  }

  async run(): Promise<AgentEnd> {
    const { model, tools, onEvent, maxTurns = MAX_TURNS, maxToolCalls = MAX_TOOL_CALLS } = this.#options;
    for (let next: "go on" | "closing" | "last" = "go on"; ; next = this.#options.next?.() ?? "go on") {
      this.#signal.throwIfAborted();
      const refusal = this.#refusal(maxTurns);
      if (refusal !== undefined) return this.#failed(refusal, false);
      this.#turns += 1;
      const turn = await model.respond({
        input: this.#conversation,
        tools: tools.definitions,
        mayCallTools: next !== "last",
        ...(next === "go on" ? {} : { retries: 0 }),
        signal: this.#signal,
        ...defined({ onEvent }),
      });
      this.#tokens = addTokens(this.#tokens, turn.tokens);
      this.#options.onTokens?.(turn.tokens);
      if (turn.text !== "") this.#text = turn.text;
      const { end, calls } = turn;
      if (end.status === "failed") return this.#failed(end.error, end.retry, end.isForAll);
      if (end.status === "interrupted")
        return this.#end({ status: "interrupted", error: end.error, retry: true });
      if (calls.length === 0 || next === "last") return this.#end({ status: "completed" });
      for (const item of turn.items) this.#add(item);
      for (const { callId, name, arguments: args } of calls) {
        if (this.#toolCalls >= maxToolCalls)
          return this.#failed(`the agent called more than ${maxToolCalls} tools`, true);
        this.#toolCalls += 1;
        onEvent?.({ type: "call", callId, name, arguments: args });
        const { text, isError } = await tools.call(name, args, { callId, signal: this.#signal });
        onEvent?.({ type: "result", callId, name, text, isError });
        this.#add({ type: "function_call_output", call_id: callId, output: shorten(text, MAX_TOOL_TEXT) });
      }
    }
  }

  #refusal(maxTurns: number): string | undefined {
    if (this.#turns >= maxTurns) return `the agent was not done after ${maxTurns} turns`;
    if (this.#bytes > MAX_CONVERSATION_BYTES)
      return `the agent's conversation is longer than ${MAX_CONVERSATION_BYTES} bytes`;
    return this.#options.refuseTurn?.();
  }

  #add(item: ConversationItem): void {
    this.#bytes += JSON.stringify(item).length;
    this.#conversation.push(item);
  }

  #failed(error: string, retry: boolean, isForAll = false): AgentEnd {
    return this.#end({ status: "failed", error, retry, isForAll });
  }

  #end(end: Pick<AgentEnd, "status" | "error"> & Partial<AgentEnd>): AgentEnd {
    const facts = { text: this.#text, turns: this.#turns, toolCalls: this.#toolCalls, tokens: this.#tokens };
    return { retry: false, isForAll: false, ...end, ...facts };
  }
}

function userMessage(text: string): ConversationItem {
  return { type: "message", role: "user", content: [{ type: "input_text", text }] };
}
