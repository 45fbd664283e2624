import {
  type ConversationItem,
  type ModelToolCall,
  type ModelTurn,
  NO_TOKENS,
  type Tokens,
  type TurnEnd,
} from "./model.ts";
import type { SpokenText } from "./spoken-text.ts";
import { member, responseIdOf, text, turnEndOf } from "./turn-end.ts";

/** A model that requests more tools at once has lost its way. */
const MAX_ITEMS = 256;
/** A stream has about one event per token. */
const MAX_EVENTS = 200_000;

/**
 * Reads the events of one streamed response. Undefined if the stream ended before the turn did. Of the items, only what
 * may be sent back is kept: no ids, because nothing is stored at the endpoint that they could name.
 */
export async function readTurn(
  events: AsyncIterable<unknown>,
  spoken?: SpokenText,
): Promise<ModelTurn | undefined> {
  let responseId: string | undefined;
  const items: ConversationItem[] = [];
  let count = 0;
  const add = (item: ConversationItem | undefined): void => {
    if (item === undefined) return;
    items.push(item);
    if (item.type === "message") spoken?.endMessage(said(item));
  };
  for await (const event of events) {
    count += 1;
    if (count > MAX_EVENTS) return lost(`the endpoint's answer has more than ${MAX_EVENTS} events`);
    const type = text(event, "type");
    if (type === "response.created") responseId ??= responseIdOf(event);
    if (type === "response.output_text.delta") spoken?.add(text(event, "delta") ?? "");
    const end = turnEndOf(event, responseId);
    if (end !== undefined) {
      const response = member(event, "response");
      if (items.length === 0) for (const item of outputOf(response)) add(item);
      return turn(end, items, tokensOf(member(response, "usage")));
    }
    if (type === "response.output_item.done") add(itemOf(member(event, "item")));
    if (items.length > MAX_ITEMS)
      return lost(`the model answered with more than ${MAX_ITEMS} parts in one turn`);
  }
  return undefined;
}

/** Some endpoints send the items only with the end. */
function outputOf(response: unknown): ConversationItem[] {
  const output = member(response, "output");
  if (!Array.isArray(output)) return [];
  return output.slice(0, MAX_ITEMS).flatMap((item) => itemOf(item) ?? []);
}

const lost = (error: string): ModelTurn => turn({ status: "failed", error, retry: false }, [], NO_TOKENS);

function turn(end: TurnEnd, items: readonly ConversationItem[], tokens: Tokens): ModelTurn {
  const calls = items.flatMap((item): ModelToolCall[] => {
    if (item.type !== "function_call") return [];
    return [
      {
        callId: text(item, "call_id") ?? "",
        name: text(item, "name") ?? "",
        arguments: text(item, "arguments") ?? "",
      },
    ];
  });
  return { end, items, calls, text: items.map(said).join(""), tokens };
}

function itemOf(item: unknown): ConversationItem | undefined {
  switch (text(item, "type")) {
    case "function_call": {
      const [call_id, name, args] = ["call_id", "name", "arguments"].map((key) => text(item, key));
      if (call_id === undefined || name === undefined) return undefined;
      return { type: "function_call", call_id, name, arguments: args ?? "" };
    }
    case "message": {
      const content = member(item, "content");
      return { type: "message", role: "assistant", content: Array.isArray(content) ? content : [] };
    }
    case "reasoning": {
      const encrypted_content = text(item, "encrypted_content");
      const summary = member(item, "summary");
      if (encrypted_content === undefined) return undefined;
      return { type: "reasoning", summary: Array.isArray(summary) ? summary : [], encrypted_content };
    }
    default:
      return undefined;
  }
}

function said({ type, content }: ConversationItem): string {
  if (type !== "message" || !Array.isArray(content)) return "";
  return content.map((part: unknown) => text(part, "text") ?? "").join("");
}

function tokensOf(usage: unknown): Tokens {
  const [input, output] = [count(usage, "input_tokens"), count(usage, "output_tokens")];
  const total = count(usage, "total_tokens");
  const cached = count(member(usage, "input_tokens_details"), "cached_tokens");
  return { input, cached, output, total: total === 0 ? input + output : total };
}

/** A negative or broken figure must not give tokens back. */
function count(value: unknown, name: string): number {
  const figure = member(value, name);
  return typeof figure === "number" && Number.isSafeInteger(figure) && figure > 0 ? figure : 0;
}
