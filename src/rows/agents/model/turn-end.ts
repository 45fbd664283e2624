import { oneLine } from "./one-line.ts";
import type { TurnEnd } from "./model.ts";

/** Which turn is meant: a response, and the conversation that it belongs to, if the endpoint names one. */
export interface OwnTurn {
  readonly responseId: string | undefined;
  readonly conversationId?: string;
}

/** Codes with which a turn fails although the same request may succeed later. */
const PASSING = new Set([
  "rate_limit_exceeded",
  "server_error",
  "server_is_overloaded",
  "slow_down",
  "timeout",
]);

/** The code of a refusal that no later request escapes. */
export const OUT_OF_QUOTA = "insufficient_quota";

/**
 * How this event of a stream ends a turn. Undefined if it does not, or if it is about the turn of somebody else: a
 * gateway may carry several on one connection.
 */
export function turnEndOf(event: unknown, own: OwnTurn): TurnEnd | undefined {
  const type = text(event, "type");
  const error = member(event, "error");
  if (typeof error === "object" && error !== null) return brokenOff(error);
  if (type === "error") return failed(event);
  const response = member(event, "response");
  if (response === undefined || isOfAnother(response, own)) return undefined;
  switch (type) {
    case "response.completed":
      return { status: "completed" };
    case "response.failed":
      return failed(member(response, "error"));
    case "response.incomplete": {
      const reason = text(member(response, "incomplete_details"), "reason") ?? "no reason was given";
      return { status: "interrupted", error: `the model's turn was cut off: ${oneLine(reason)}` };
    }
    case "response.cancelled":
      return { status: "interrupted", error: "the model's turn was cancelled" };
    default:
      return undefined;
  }
}

/** The id of the response that an event is about. */
export const responseIdOf = (event: unknown): string | undefined => text(member(event, "response"), "id");

function isOfAnother(response: unknown, { responseId, conversationId }: OwnTurn): boolean {
  const id = text(response, "id");
  const conversation = text(member(response, "conversation"), "id");
  return (
    (responseId !== undefined && id !== undefined && id !== responseId) ||
    (conversationId !== undefined && conversation !== undefined && conversation !== conversationId)
  );
}

/** The endpoint itself failed in the middle of its answer. */
function brokenOff(error: object): TurnEnd {
  const code = text(error, "code");
  const said = `the endpoint failed: ${oneLine(text(error, "message") ?? code ?? "no reason was given")}`;
  if (code === OUT_OF_QUOTA) return { status: "failed", error: said, retry: false, isForAll: true };
  return { status: "failed", error: said, retry: true };
}

function failed(error: unknown): TurnEnd {
  const code = text(error, "code");
  const message = text(error, "message") ?? code ?? "no reason was given";
  return {
    status: "failed",
    error: `the model's turn failed: ${oneLine(message)}`,
    retry: code !== undefined && PASSING.has(code),
  };
}

/** A member of a value that may be anything. */
export function member(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Record<string, unknown>)[name];
}

/** A member that is text. */
export function text(value: unknown, name: string): string | undefined {
  const found = member(value, name);
  return typeof found === "string" ? found : undefined;
}
