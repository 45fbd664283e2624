import { shorten } from "../../../base/shorten.ts";
import type { TurnEnd } from "./model.ts";

const MAX_CHARACTERS = 300;

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
 * How this event of a stream ends a turn. Undefined if it does not, or if it is about another response than ours: a
 * gateway may carry several on one connection.
 */
export function turnEndOf(event: unknown, ownId: string | undefined): TurnEnd | undefined {
  const type = text(event, "type");
  const error = member(event, "error");
  if (typeof error === "object" && error !== null) return brokenOff(error);
  if (type === "error") return failed(event);
  const response = member(event, "response");
  if (response === undefined) return undefined;
  const id = text(response, "id") ?? ownId;
  if (ownId !== undefined && id !== ownId) return undefined;
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
  const content = member(value, name);
  return typeof content === "string" ? content : undefined;
}

/** An endpoint's text, as part of a one-line message. */
export function oneLine(said: string): string {
  return shorten(
    said
      .slice(0, MAX_CHARACTERS * 4)
      .replace(/\s+/g, " ")
      .trim(),
    MAX_CHARACTERS,
  );
}
